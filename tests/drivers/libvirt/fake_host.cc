#include "tests/drivers/libvirt/fake_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "drivers/libvirt/api/descriptions.h"

namespace nodepool::drivers::libvirt {

using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

std::string part_of(const std::string& xml, const std::string& begin, const std::string& end) {
  const std::size_t at = xml.find(begin);
  if (at == std::string::npos) return {};
  const std::size_t from = at + begin.size();
  return xml.substr(from, xml.find(end, from) - from);
}

}  // namespace

void FakeHost::fail_at(Fault fault, Kind kind) {
  if (faults->happens(fault)) throw CloudError(kind, "as the test wants it");
}

void FakeHost::require_up() const {
  if (is_away) throw CloudError(Kind::transient, "the host is away");
}

HostState FakeHost::state(const HostQuery& query) {
  const std::lock_guard lock(mutex);
  require_up();
  fail_at(Fault::state_away, Kind::transient);
  fail_at(Fault::state_failed, Kind::failed);
  HostState state;
  state.cpus = cpus;
  state.memory = memory;
  state.has_kvm = true;
  state.pool_path = "/pool";
  for (auto& [name, domain] : domains) {
    state.domains.push_back(domain.description);
    const bool is_up = domain.started && clock_.now() >= *domain.started + boot_time;
    if (!is_up) continue;
    state.domains.back().has_agent = true;
    for (const std::string& mac : domain.description.macs) {
      if (has_leases) state.leases[mac] = "192.0.2.7";
    }
  }
  for (const auto& [name, volume] : volumes) state.volumes.insert(name);
  for (const std::string& name : query.networks) {
    if (networks.contains(name)) state.networks.insert(name);
  }
  for (const std::string& name : query.host_devices) {
    if (devices.contains(name)) state.host_devices.insert(name);
  }
  return state;
}

std::optional<Domain> FakeHost::find_domain(const std::string& name) {
  const std::lock_guard lock(mutex);
  require_up();
  fail_at(Fault::state_away, Kind::transient);
  fail_at(Fault::state_failed, Kind::failed);
  const auto found = domains.find(name);
  return found == domains.end() ? std::nullopt : std::optional(found->second.description);
}

void FakeHost::define_domain(const std::string& xml) {
  const std::lock_guard lock(mutex);
  require_up();
  fail_at(Fault::define_refused, Kind::quota);
  fail_at(Fault::define_failed, Kind::failed);
  fail_at(Fault::define_permanent, Kind::permanent);
  fail_at(Fault::define_unanswered, Kind::unknown_outcome);
  FakeDomain made{.description = read_domain(xml),
                  .uuid = part_of(xml, "<uuid>", "</uuid>"),
                  .id = {},
                  .started = {}};
  const std::string name = made.description.name;
  const auto existing = domains.find(name);
  if (existing != domains.end() && existing->second.uuid != made.uuid) {
    throw CloudError(Kind::failed, fmt::format("domain '{}' already exists with uuid {}", name,
                                               existing->second.uuid));
  }
  if (existing == domains.end()) {
    made.id = fmt::format("d{}", ++made_);
    domains.emplace(name, std::move(made));
  }
  fail_at(Fault::define_lost, Kind::unknown_outcome);
}

void FakeHost::start_domain(const std::string& name) {
  if (before_start) before_start();
  const std::lock_guard lock(mutex);
  require_up();
  fail_at(Fault::start_full, Kind::no_capacity);
  FakeDomain& domain = domains.at(name);
  if (!volumes.contains(name + ".qcow2")) throw CloudError(Kind::failed, "there is no disk");
  if (faults->happens(Fault::start_broken)) {
    domain.description.reason = "shut off (crashed)";
    return;
  }
  domain.description.state = Domain::State::running;
  domain.started = clock_.now();
}

void FakeHost::stop_domain(const std::string& name) {
  if (before_stop) before_stop();
  const std::lock_guard lock(mutex);
  require_up();
  fail_at(Fault::stop_failed, Kind::failed);
  const auto found = domains.find(name);
  if (found == domains.end()) return;
  found->second.description.state = Domain::State::off;
  found->second.description.reason = "shut off (destroyed)";
  found->second.started.reset();
}

void FakeHost::undefine_domain(const std::string& name) {
  const std::lock_guard lock(mutex);
  require_up();
  domains.erase(name);
}

std::vector<std::string> FakeHost::addresses_by_agent(const std::string& domain) {
  const std::lock_guard lock(mutex);
  require_up();
  return domains.contains(domain) ? std::vector<std::string>{"192.0.2.8"}
                                  : std::vector<std::string>();
}

std::vector<std::string> FakeHost::addresses_by_arp(const std::string& /*domain*/) {
  const std::lock_guard lock(mutex);
  require_up();
  return {"192.0.2.9"};
}

std::optional<std::string> FakeHost::volume_xml(const std::string& name) {
  const std::lock_guard lock(mutex);
  require_up();
  const auto found = volumes.find(name);
  return found == volumes.end() ? std::nullopt : std::optional(found->second.xml);
}

void FakeHost::create_volume(const std::string& xml) {
  const std::lock_guard lock(mutex);
  require_up();
  const std::string name = part_of(xml, "<name>", "</name>");
  if (!volumes.emplace(name, FakeVolume{.xml = xml, .bytes = {}}).second) {
    throw CloudError(Kind::failed, "there is a volume " + name);
  }
}

void FakeHost::write_volume(const std::string& name, std::uint64_t offset, std::string bytes) {
  const std::lock_guard lock(mutex);
  require_up();
  fail_at(Fault::write_failed, Kind::failed);
  if (faults->happens(Fault::write_lost)) {
    is_away = true;
    throw CloudError(Kind::unknown_outcome, "the host went away");
  }
  std::string& content = volumes.at(name).bytes;
  content.resize(std::max(content.size(), offset + bytes.size()), '\0');
  content.replace(offset, bytes.size(), bytes);
}

std::string FakeHost::read_volume(const std::string& name, std::size_t most) {
  const std::lock_guard lock(mutex);
  require_up();
  const std::string& content = volumes.at(name).bytes;
  return content.substr(content.size() - std::min(content.size(), most));
}

void FakeHost::delete_volume_in(const std::string& pool, const std::string& name) {
  const std::lock_guard lock(mutex);
  require_up();
  const auto other = other_pools.find(pool);
  if (pool == storage_pool) {
    volumes.erase(name);
  } else if (other != other_pools.end()) {
    other->second.erase(name);
  } else {
    throw CloudError(Kind::failed, "there is no storage pool " + pool);
  }
}

void FakeHost::add(Domain domain) {
  const std::lock_guard lock(mutex);
  domain.state = Domain::State::running;
  std::string name = domain.name;
  std::string uuid = fmt::format("other-{}", ++made_);
  volumes.emplace(name + ".qcow2", FakeVolume());
  domains.insert_or_assign(std::move(name), FakeDomain{.description = std::move(domain),
                                                       .uuid = std::move(uuid),
                                                       .id = fmt::format("d{}", made_),
                                                       .started = clock_.now()});
}

void FakeHost::crash(const std::string& name) {
  const std::lock_guard lock(mutex);
  FakeDomain& domain = domains.at(name);
  domain.description.state = Domain::State::off;
  domain.description.reason = "shut off (crashed)";
  domain.started.reset();
}

}  // namespace nodepool::drivers::libvirt
