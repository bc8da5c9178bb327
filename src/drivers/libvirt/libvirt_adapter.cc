#include "drivers/libvirt/libvirt_adapter.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/cloud_error.h"

namespace nodepool::drivers::libvirt {

using async::Task;
using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

constexpr const char* kVolumeResource = "volume";
constexpr std::string_view kHostPrefix = "np";  // of the host names of nodes
constexpr std::size_t kConsoleBytes = 64UL * 1024;

// What the configuration names, on any host.
HostQuery query_of(const LibvirtConfig& config) {
  HostQuery query;
  for (const auto& [pool_name, pool] : config.pools()) {
    for (const std::string& name : pool.labels) {
      const LibvirtLabel& label = config.label(pool_name, name);
      query.host_devices.insert(label.host_devices.begin(), label.host_devices.end());
      for (const NetworkCard& card : label.networks) {
        if (card.kind == NetworkCard::Kind::network) query.networks.insert(card.source);
      }
    }
  }
  return query;
}

// Before its first start, a domain has no disk. The host lists the volumes of this storage pool.
driver::Machine::State machine_state(const Domain& domain, const HostState& host,
                                     std::string_view storage_pool) {
  using State = driver::Machine::State;
  switch (domain.state) {
    case Domain::State::running:
      return State::running;
    case Domain::State::starting:
      return State::building;
    case Domain::State::crashed:
      return State::failed;
    case Domain::State::off: {
      const bool is_elsewhere = !domain.storage_pool.empty() && domain.storage_pool != storage_pool;
      const bool has_disk = is_elsewhere || host.volumes.contains(disk_name(domain.name));
      return has_disk ? State::stopped : State::building;
    }
    default:
      return State::stopped;
  }
}

driver::Machine machine_of(const Domain& domain, const HostState& host, const std::string& name,
                           std::string_view storage_pool) {
  driver::Machine machine;
  machine.external_id = model::json_string(text_of({name, domain.name}));
  machine.metadata = domain.tags;
  machine.host_id = name;
  machine.state = machine_state(domain, host, storage_pool);
  machine.explanation = domain.reason;
  if (takes_resources(domain)) {
    machine.resources = resources_of(domain.cpus, domain.memory, domain.host_devices);
  }
  return machine;
}

// The domain is the last to go: while it exists, it shows whose its volumes are, and where.
void remove_everything(Hypervisor& host, const std::string& domain,
                       const std::string& storage_pool) {
  host.stop_domain(domain);
  for (const auto& name :
       {disk_name(domain), configuration_name(domain), console_log_name(domain)}) {
    host.delete_volume_in(storage_pool, name);
  }
  host.undefine_domain(domain);
}

}  // namespace

LibvirtAdapter::LibvirtAdapter(driver::ProviderContext context,
                               std::shared_ptr<const LibvirtConfig> config, HostFactory connect)
    : context_(std::move(context)),
      config_(std::move(config)),
      connect_(std::move(connect)),
      ownership_(context_.installation, config_->name()),
      launch_context_{context_.runtime, *config_, lines_, context_.log},
      images_(launch_context_, context_.store) {}

Task<> LibvirtAdapter::start(std::function<void()> /*changed*/) {
  const HostQuery query = query_of(*config_);
  for (const HostConfig& host : config_->hosts()) {
    auto line = std::make_unique<HostLine>(context_, *config_, host, query,
                                           connect_(host.uri, config_->storage_pool()));
    line->start();
    lines_.emplace(host.name, std::move(line));
  }
  co_return;
}

Task<> LibvirtAdapter::stop() {
  for (const auto& [name, line] : lines_) co_await line->stop();
}

Task<driver::Instance> LibvirtAdapter::create(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  DomainLaunch launch(launch_context_, std::move(spec), steps);
  co_return co_await launch.run();
}

Task<> LibvirtAdapter::remove(model::Json external_id, driver::LaunchSteps& /*steps*/) {
  const MachineId id = parse_machine_id(external_id.string_value());
  if (!lines_.contains(id.host)) {
    // Waiting would not end. If the host is added again, the machine is a leak.
    context_.log.warning("Abandoning machine {}: the provider has no host `{}` any more",
                         text_of(id), id.host);
    co_return;
  }
  std::string failure;
  try {
    co_await remove_machine(id);
    co_return;
  } catch (const CloudError& error) {
    failure = error.what();
    if (error.kind() != Kind::transient || lines_.size() == 1) throw;
  }
  HostLine& line = line_of(lines_, id.host);
  bool responds = true;
  try {
    co_await line.state(kListingAge);
  } catch (const CloudError&) {
    responds = false;
  }
  if (!responds && line.is_lost()) throw driver::OutOfReach(failure);
  throw CloudError(Kind::transient, failure);
}

Task<> LibvirtAdapter::remove_machine(MachineId id) {
  using Maker = driver::Ownership::Maker;
  HostLine& line = line_of(lines_, id.host);
  auto look_up = [name = id.domain](Hypervisor& host) { return host.find_domain(name); };
  const auto domain =
      co_await line.call("find_domain", HostLine::Effect::reads, std::move(look_up));
  if (domain) {
    const Maker maker = ownership_.maker_of(domain->tags);
    if (maker == Maker::other_provider || maker == Maker::other_installation) {
      context_.log.warning("Domain {} belongs to another owner, not deleting it", text_of(id));
      co_return;
    }
  }
  const bool has_pool = domain && !domain->storage_pool.empty();
  auto call = [name = id.domain, pool = has_pool ? domain->storage_pool : config_->storage_pool()](
                  Hypervisor& host) { remove_everything(host, name, pool); };
  co_await line.call("remove_domain", HostLine::Effect::changes, std::move(call));
  line.states().forget();  // its capacity is free at once
}

Task<driver::MachineList> LibvirtAdapter::list() {
  const HostStates states = co_await states_of(context_.runtime, lines_, kListingAge);
  require_any(states, lines_);
  driver::MachineList list;
  for (const auto& [name, state] : states) {
    if (!state) list.is_complete = false;
    if (!state) continue;
    for (const Domain& domain : state->domains) {
      list.machines.push_back(machine_of(domain, *state, name, config_->storage_pool()));
    }
  }
  co_return list;
}

// --- leaks

std::vector<driver::Metadata> LibvirtAdapter::owners() const {
  driver::Metadata owner = {{std::string(driver::kProviderNameKey), config_->name()}};
  std::vector<driver::Metadata> all = {owner};
  owner.emplace(driver::kInstallationIdKey, ownership_.installation().id);
  all.push_back(std::move(owner));
  return all;
}

// Volumes without a domain: it was removed by hand.
Task<std::vector<driver::Resource>> LibvirtAdapter::other_resources() {
  const HostStates states = co_await states_of(context_.runtime, lines_, kListingAge);
  const std::vector<driver::Metadata> all_owners = owners();
  std::vector<driver::Resource> volumes;
  for (const auto& [name, state] : states) {
    if (!state) continue;
    for (const std::string& volume : state->volumes) {
      const std::string domain = volume.substr(0, volume.rfind('.'));
      if (domain_in(*state, domain) != nullptr) continue;
      for (const driver::Metadata& owner : all_owners) {
        const std::string host = hostname_in(domain, owner);
        if (!host.starts_with(kHostPrefix)) continue;
        driver::Metadata metadata = owner;
        metadata.emplace(driver::kNodeIdKey, host.substr(kHostPrefix.size()));
        volumes.push_back({kVolumeResource, text_of({name, volume}), std::move(metadata)});
      }
    }
  }
  co_return volumes;
}

Task<> LibvirtAdapter::remove_resource(driver::Resource resource) {
  if (resource.type == driver::kInstanceResource) {
    co_await remove_machine(parse_machine_id(resource.id));
  } else if (resource.type == kVolumeResource) {
    co_await remove_volume(parse_machine_id(resource.id));
  } else {
    throw CloudError(Kind::permanent,
                     "resources of type `" + resource.type + "` are not supported");
  }
}

Task<> LibvirtAdapter::remove_volume(MachineId id) {
  auto call = [volume = id.domain](Hypervisor& host) { host.delete_volume(volume); };
  co_await line_of(lines_, id.host)
      .call("delete_volume", HostLine::Effect::changes, std::move(call));
}

// --- limits and labels

Task<driver::CloudDescription> LibvirtAdapter::describe(driver::CloudDescription::Purpose purpose) {
  driver::CloudDescription described;
  const HostStates now = co_await states_of(context_.runtime, lines_, kListingAge);
  require_any(now, lines_);
  described.limits = limits();
  for (const auto& [pool, settings] : config_->pools()) {
    for (const std::string& name : settings.labels) {
      const LibvirtLabel& label = config_->label(pool, name);
      driver::LabelDescription& offer = described.labels[{pool, name}];
      offer.need = resources_of(label.cpus, label.memory, label.host_devices);
      offer.problem = problem(pool, name);
    }
  }
  if (purpose == driver::CloudDescription::Purpose::check) {
    for (const auto& [name, state] : now) {
      if (state) continue;
      described.missing.push_back(
          fmt::format("host {} does not respond: {}", name, lines_.at(name)->failure()));
    }
  }
  co_return described;
}

// By the hosts' last known states: a request that only a host that is away can serve must wait for
// it, and with one that has never responded, no limit is known. A host that stays away offers what
// its machines of this provider have, because these still count as used.
driver::Limits LibvirtAdapter::limits() const {
  driver::Limits limits = {{"cores", 0}, {"ram", 0}};
  for (const std::string& device : query_of(*config_).host_devices) limits[device] = 0;
  for (const auto& [name, line] : lines_) {
    const HostLine::States::Pointer& state = line->last_state();
    if (!line->may_be_back()) {
      if (state) add_used(*state, limits);
      continue;
    }
    if (!state) return {};
    const Capacity capacity = capacity_of(*state, *config_);
    limits["cores"] += capacity.cpus;
    limits["ram"] += capacity.memory;
    for (const std::string& device : state->host_devices) limits[device] += 1;
  }
  return limits;
}

void LibvirtAdapter::add_used(const HostState& state, driver::Limits& limits) const {
  for (const Domain& domain : state.domains) {
    if (driver::value_of(domain.tags, driver::kProviderNameKey) != config_->name()) continue;
    const auto taken = resources_of(domain.cpus, domain.memory, domain.host_devices);
    for (auto& [resource, limit] : limits) limit += taken.amount(resource);
  }
}

// Empty if a host can serve the label, or may be able to: one that has never responded.
std::string LibvirtAdapter::problem(const std::string& pool, const std::string& name) const {
  const LibvirtLabel& label = config_->label(pool, name);
  std::string reasons;
  for (const auto& [host, line] : lines_) {
    const HostLine::States::Pointer& state = line->last_state();
    if (!state) return {};
    // The framework knows the uploads: those labels have no volume.
    const auto reason = misfit(*state, label, label.volume, *config_);
    if (!reason) return {};
    reasons += fmt::format("{}host {}: {}", reasons.empty() ? "" : "; ", host, *reason);
  }
  return driver::images_unavailable(reasons);
}

Task<std::optional<std::string>> LibvirtAdapter::diagnose(model::Json external_id,
                                                          bool wants_console) {
  if (!wants_console) co_return std::nullopt;
  const MachineId id = parse_machine_id(external_id.string_value());
  auto call = [volume = console_log_name(id.domain)](Hypervisor& host) {
    return host.read_volume(volume, kConsoleBytes);
  };
  co_return co_await line_of(lines_, id.host)
      .call("console_log", HostLine::Effect::reads, std::move(call));
}

}  // namespace nodepool::drivers::libvirt
