#include "drivers/libvirt/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace nodepool::drivers::libvirt {

Capacity capacity_of(const HostState& host, const LibvirtConfig& config) {
  const std::int64_t memory = std::max<std::int64_t>(0, host.memory - config.memory_reserve());
  return {.cpus = std::floor(static_cast<double>(host.cpus) * config.cpu_overcommit()),
          .memory = static_cast<double>(memory)};
}

bool takes_resources(const Domain& domain) {
  return domain.is_active() || !domain.tags.empty();
}

Occupancy occupancy_of(const HostState& host, const PendingMachines& pending_machines) {
  Occupancy occupied;
  const auto add = [&occupied](const auto& machine) {
    occupied.cpus += static_cast<double>(machine.cpus);
    occupied.memory += static_cast<double>(machine.memory);
    occupied.host_devices.insert(machine.host_devices.begin(), machine.host_devices.end());
    occupied.ports.insert(machine.port);
  };
  for (const Domain& domain : host.domains) {
    if (takes_resources(domain)) add(domain);
  }
  for (const auto& [name, machine] : pending_machines) {
    const auto listed = std::ranges::find(host.domains, name, &Domain::name);
    if (listed == host.domains.end()) add(machine);
  }
  return occupied;
}

std::vector<std::string> free_macs(const HostState& host, std::size_t count,
                                   async::Random& random) {
  std::set<std::string, std::less<>> taken;
  for (const Domain& domain : host.domains) taken.insert(domain.macs.begin(), domain.macs.end());
  std::vector<std::string> macs;
  while (macs.size() < count) {
    const std::uint64_t bits = random.next();
    std::string mac =
        fmt::format("52:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", bits >> 56U, bits >> 48U & 0xffU,
                    bits >> 40U & 0xffU, bits >> 32U & 0xffU, bits >> 24U & 0xffU);
    if (taken.insert(mac).second) macs.push_back(std::move(mac));
  }
  return macs;
}

bool uses_kvm(const HostState& host, const LibvirtConfig& config) {
  return host.has_kvm && config.virtualization() != Virtualization::qemu;
}

std::optional<std::string> misfit(const HostState& host, const LibvirtLabel& label,
                                  const std::string& volume, const LibvirtConfig& config) {
  if (!volume.empty() && !host.volumes.contains(volume)) {
    return fmt::format("storage pool {} has no volume {}", config.storage_pool(), volume);
  }
  for (const NetworkCard& card : label.networks) {
    if (card.kind == NetworkCard::Kind::network && !host.networks.contains(card.source)) {
      return "there is no active network " + card.source;
    }
  }
  for (const std::string& device : label.host_devices) {
    if (!host.host_devices.contains(device)) return "there is no host device " + device;
  }
  if (config.virtualization() == Virtualization::kvm && !host.has_kvm) return "there is no KVM";
  const Capacity capacity = capacity_of(host, config);
  if (static_cast<double>(label.cpus) > capacity.cpus ||
      static_cast<double>(label.memory) > capacity.memory) {
    return fmt::format("{} processors and {} MiB are more than all that nodes may have, {} and {}",
                       label.cpus, label.memory, capacity.cpus, capacity.memory);
  }
  return std::nullopt;
}

std::optional<double> memory_left(const HostState& host, const Occupancy& occupied,
                                  const LibvirtLabel& label, const LibvirtConfig& config) {
  const Capacity capacity = capacity_of(host, config);
  const double left = capacity.memory - occupied.memory - static_cast<double>(label.memory);
  if (left < 0 || occupied.cpus + static_cast<double>(label.cpus) > capacity.cpus) {
    return std::nullopt;
  }
  const auto is_taken = [&occupied](const std::string& device) {
    return occupied.host_devices.contains(device);
  };
  if (std::ranges::any_of(label.host_devices, is_taken)) return std::nullopt;
  const NetworkCard& card = label.networks.front();
  const bool has_port = card.kind != NetworkCard::Kind::user || free_port(card, occupied, 0) != 0;
  return has_port ? std::optional(left) : std::nullopt;
}

int free_port(const NetworkCard& card, const Occupancy& occupied, std::size_t start) {
  const int count = card.last_port - card.first_port + 1;
  const int offset = static_cast<int>(start % static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const int port = card.first_port + (offset + i) % count;
    if (!occupied.ports.contains(port)) return port;
  }
  return 0;
}

driver::Resources resources_of(std::int64_t cpus, std::int64_t memory,
                               const std::vector<std::string>& host_devices) {
  driver::Resources::Amounts amounts = {
      {"instances", 1}, {"cores", static_cast<double>(cpus)}, {"ram", static_cast<double>(memory)}};
  for (const std::string& device : host_devices) amounts[device] = 1;
  return driver::Resources(std::move(amounts));
}

}  // namespace nodepool::drivers::libvirt
