#include "drivers/libvirt/domain_launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "async/task_scope.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/libvirt/config_drive.h"
#include "telemetry/log_errors.h"

namespace nodepool::drivers::libvirt {

using async::Task;
using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

// In the records: the same in every release.
constexpr const char* kHostStep = "host";
constexpr const char* kDomainStep = "domain";

constexpr async::Duration kStateAge = std::chrono::seconds(2);

// Leaves `state` empty if the host does not respond, which HostLine logs.
Task<> read_state(HostLine& line, async::Duration max_age, HostLine::States::Pointer& state) {
  try {
    state = co_await line.state(max_age);
  } catch (const CloudError&) {
  }
}

// The volumes of a machine, and how to make them.
struct MachineFiles {
  std::string domain;
  std::string image;
  std::uint64_t disk_size = 0;  // bytes; 0: as the image
  std::string configuration;    // a config drive, or for Ignition; empty: none
};

void replace_volume(Hypervisor& host, const std::string& name, const std::string& xml) {
  host.delete_volume(name);
  host.create_volume(xml);
}

// Makes the volumes, and starts the domain. Can be repeated until it runs.
void start_machine(Hypervisor& host, const MachineFiles& files) {
  const auto described = host.volume_xml(files.image);
  if (!described) throw CloudError(Kind::failed, "there is no volume " + files.image);
  const VolumeDescription image = read_volume(*described);
  const std::string disk = disk_name(files.domain);
  replace_volume(host, disk, clone_xml(disk, image, files.disk_size));
  const std::string log = console_log_name(files.domain);
  replace_volume(host, log, volume_xml(log, "raw", 0));
  if (!files.configuration.empty()) {
    const std::string name = configuration_name(files.domain);
    replace_volume(host, name, volume_xml(name, "raw", files.configuration.size()));
    host.write_volume(name, 0, files.configuration);
  }
  host.start_domain(files.domain);
}

}  // namespace

Task<HostStates> states_of(async::Runtime runtime, const HostLines& lines,
                           async::Duration max_age) {
  HostStates states;
  async::TaskScope scope(runtime, [](const std::string&, const std::string&) {});
  for (const auto& [name, line] : lines) {
    scope.spawn("state of host " + name, read_state(*line, max_age, states[name]));
  }
  co_await scope.join_or_stop();
  co_return states;
}

void require_any(const HostStates& states, const HostLines& lines) {
  if (std::ranges::any_of(states, [](const auto& host) { return host.second != nullptr; })) return;
  std::vector<std::string> reasons;
  for (const auto& [name, line] : lines) {
    reasons.push_back(fmt::format("host {}: {}", name, line->failure()));
  }
  throw CloudError(Kind::transient, fmt::format("no host responds: {}", fmt::join(reasons, "; ")));
}

std::string text_of(const MachineId& id) {
  return id.host + '/' + id.domain;
}

MachineId parse_machine_id(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw CloudError(Kind::failed, "invalid external id of a machine: `" + text + "`");
  }
  return {.host = text.substr(0, slash), .domain = text.substr(slash + 1)};
}

HostLine& line_of(const HostLines& lines, const std::string& host) {
  const auto found = lines.find(host);
  if (found == lines.end()) {
    throw CloudError(Kind::failed, "the provider has no host `" + host + "` any more");
  }
  return *found->second;
}

const Domain* domain_in(const HostState& host, const std::string& name) {
  const auto found = std::ranges::find(host.domains, name, &Domain::name);
  return found == host.domains.end() ? nullptr : &*found;
}

DomainLaunch::DomainLaunch(LaunchContext context, driver::CreateSpec spec,
                           driver::LaunchSteps& steps)
    : context_(std::move(context)),
      spec_(std::move(spec)),
      steps_(steps),
      label_(context_.config.label(spec_.pool, spec_.label)),
      volume_(spec_.image_external_id.empty() ? label_.volume : spec_.image_external_id),
      name_(domain_name(spec_.hostname, spec_.metadata)) {}

DomainLaunch::~DomainLaunch() {
  if (pending_machines_) pending_machines_->erase(name_);
}

Task<driver::Instance> DomainLaunch::run() {
  steps_.enter("choosing a host");
  const driver::LaunchSteps::Make choose = [this] { return choose_host(); };
  const driver::LaunchSteps::Find find_none = []() -> Task<std::optional<std::string>> {
    co_return std::nullopt;
  };
  const std::string host = co_await steps_.step(kHostStep, choose, find_none);
  if (!pending_machines_) reserve(line_of(context_.lines, host));
  try {
    driver::Instance instance = co_await make_machine();
    line_->launch_succeeded();
    co_return instance;
  } catch (const CloudError& error) {
    if (error.kind() == Kind::quota || error.kind() == Kind::transient) throw;
    line_->launch_failed();
    // What this host can never do, another one may.
    if (error.kind() != Kind::permanent || context_.lines.size() == 1) throw;
    throw CloudError(Kind::failed, error.what(), error.launch_result(), error.code());
  } catch (const async::Cancelled&) {  // by the launch's timeout, or this provider is stopped
    line_->launch_failed();
    throw;
  }
}

Task<driver::Instance> DomainLaunch::make_machine() {
  steps_.enter("creating the domain");
  const driver::LaunchSteps::Make make = [this] { return define(); };
  const driver::LaunchSteps::Find find = [this] { return this->find(); };
  co_await steps_.step(kDomainStep, make, find);
  steps_.enter("starting the domain");
  co_await start();
  steps_.enter("waiting for an address");
  co_return co_await wait_for_address();
}

// The decision and the machine are one continuation: no other launch comes between. A host where
// launches fail stays the emptiest one, so it comes last for a while.
Task<std::string> DomainLaunch::choose_host() {
  const HostStates states = co_await states_of(context_.runtime, context_.lines, kStateAge);
  require_any(states, context_.lines);
  HostLine* best = nullptr;
  std::pair<bool, double> best_rank;
  bool may_fit_later = false;
  std::vector<std::string> reasons;
  for (const auto& [name, state] : states) {
    HostLine& line = line_of(context_.lines, name);
    const HostLine::States::Pointer& known = state ? state : line.last_state();
    const std::optional<std::string> why = known ? objection(*known) : std::nullopt;
    if (!why && (state || line.may_be_back())) may_fit_later = true;
    if (!state) {
      reasons.push_back(fmt::format("host {} does not respond: {}", name, line.failure()));
      continue;
    }
    if (why) {
      reasons.push_back(fmt::format("host {}: {}", name, *why));
      continue;
    }
    const Occupancy occupied = occupancy_of(*state, *line.pending_machines());
    const auto left = memory_left(*state, occupied, label_, context_.config);
    if (!left) {
      reasons.push_back(fmt::format("host {}: not enough capacity left", name));
      continue;
    }
    const std::pair rank(!line.has_failed_lately(), *left);
    if (best != nullptr && rank <= best_rank) continue;
    best = &line;
    best_rank = rank;
  }
  if (best == nullptr) {
    throw CloudError(may_fit_later ? Kind::quota : Kind::transient,
                     fmt::format("no host for the machine: {}", fmt::join(reasons, "; ")));
  }
  reserve(*best);
  co_return best->config().name;
}

std::optional<std::string> DomainLaunch::objection(const HostState& host) const {
  if (has_domain_of_earlier_attempt(host)) return "it has a domain of an earlier attempt";
  return misfit(host, label_, volume_, context_.config);
}

// It was abandoned while the host was away, and will be deleted as a leak.
bool DomainLaunch::has_domain_of_earlier_attempt(const HostState& host) const {
  const Domain* domain = domain_in(host, name_);
  return spec_.attempt > 1 && domain != nullptr && driver::carries(domain->tags, spec_.metadata);
}

void DomainLaunch::reserve(HostLine& line) {
  line_ = &line;
  pending_machines_ = line.pending_machines();
  pending_machines_->insert_or_assign(name_, PendingMachine{.cpus = label_.cpus,
                                                            .memory = label_.memory,
                                                            .host_devices = label_.host_devices});
}

Task<std::string> DomainLaunch::define() {
  steps_.set_external_id(model::json_string(text_of({line_->config().name, name_})));
  const auto state = co_await line_->state(kStateAge);
  DomainSpec domain{.name = name_,
                    .attempt = spec_.attempt,
                    .owner_tags = spec_.metadata,
                    .label = label_,
                    .macs = free_macs(*state, label_.networks.size(), context_.runtime.random),
                    .storage_pool = context_.config.storage_pool(),
                    .pool_path = state->pool_path,
                    .has_kvm = uses_kvm(*state, context_.config),
                    .host_address = line_->config().address};
  const NetworkCard& card = label_.networks.front();
  if (card.kind == NetworkCard::Kind::user) {
    const Occupancy occupied = occupancy_of(*state, *pending_machines_);
    const std::size_t start = std::hash<std::string>()(fmt::format("{}{}", name_, spec_.attempt));
    domain.port = free_port(card, occupied, start);
    if (domain.port == 0) throw CloudError(Kind::quota, "all ports of the network are in use");
    (*pending_machines_)[name_].port = domain.port;
  }
  auto call = [xml = domain_xml(domain)](Hypervisor& host) { host.define_domain(xml); };
  co_await line_->call("define_domain", HostLine::Effect::changes, std::move(call));
  co_return name_;
}

Task<std::optional<std::string>> DomainLaunch::find() {
  const auto domain = co_await look_up();
  if (!domain || !driver::carries(domain->tags, spec_.metadata)) co_return std::nullopt;
  steps_.set_external_id(model::json_string(text_of({line_->config().name, name_})));
  co_return name_;
}

Task<std::optional<Domain>> DomainLaunch::look_up() {
  auto call = [name = name_](Hypervisor& host) { return host.find_domain(name); };
  co_return co_await line_->call("find_domain", HostLine::Effect::reads, std::move(call));
}

// An earlier launcher may have started it.
Task<> DomainLaunch::start() {
  const auto domain = co_await look_up();
  if (!domain) throw CloudError(Kind::failed, "domain " + name_ + " has disappeared");
  if (domain->is_active()) co_return;
  constexpr std::uint64_t kGiB = 1ULL << 30U;
  MachineFiles files{.domain = name_,
                     .image = volume_,
                     .disk_size = static_cast<std::uint64_t>(label_.disk) * kGiB,
                     .configuration = label_.user_data};
  if (label_.user_data_format == UserDataFormat::cloud_init) {
    const CloudInit settings{.instance_id = context_.runtime.random.uuid_hex(),
                             .hostname = spec_.hostname,
                             .username = label_.username,
                             .keys = label_.keys,
                             .user_data = label_.user_data};
    files.configuration = iso_image("cidata", cloud_init_files(settings));
  }
  auto call = [files = std::move(files)](Hypervisor& host) { start_machine(host, files); };
  co_await line_->call("start_domain", HostLine::Effect::starts, std::move(call));
}

Task<driver::Instance> DomainLaunch::wait_for_address() {
  HostLine::States& states = line_->states();
  driver::PollWaiter awaited = states.await(spec_.expected);
  awaited.only_younger = true;  // older ones may show it before its start
  while (true) {
    const auto state = co_await driver::if_answered(states.next(awaited), "domains", context_.log);
    if (!state && line_->is_lost() && context_.lines.size() > 1) {
      throw CloudError(Kind::failed,
                       fmt::format("host {} is away: {}", line_->config().name, line_->failure()));
    }
    if (!state) continue;
    const Domain* domain = domain_in(*state, name_);
    if (domain == nullptr) throw CloudError(Kind::failed, "domain " + name_ + " has disappeared");
    if (domain->state == Domain::State::starting) continue;  // by an earlier launcher
    if (domain->state != Domain::State::running) {
      throw CloudError(Kind::failed, fmt::format("domain {}: {}", name_, domain->reason));
    }
    driver::Instance instance;
    if (domain->port != 0) {
      instance.interface_ip = line_->config().address;
      instance.connection.port = {std::to_string(domain->port)};
    } else {
      const std::string address = co_await address_of(*state, *domain);
      if (address.empty()) continue;
      instance.interface_ip = address;
      instance.private_ipv4 = address;
    }
    steps_.booted(awaited.taken());
    instance.external_id = model::json_string(text_of({line_->config().name, name_}));
    instance.resources = resources_of(label_.cpus, label_.memory, label_.host_devices);
    instance.cloud = "libvirt";
    instance.host_id = line_->config().name;
    co_return instance;
  }
}

// Empty: not known yet. `host` outlives it.
Task<std::string> DomainLaunch::address_of(const HostState& host, const Domain& domain) {
  for (const AddressSource source : context_.config.address_sources()) {
    std::vector<std::string> found;
    if (source == AddressSource::lease) {
      for (const std::string& mac : domain.macs) {
        const auto lease = host.leases.find(mac);
        if (lease != host.leases.end()) co_return lease->second;
      }
    } else if (source == AddressSource::arp) {
      auto call = [name = name_](Hypervisor& asked) { return asked.addresses_by_arp(name); };
      found = co_await driver::if_answered(
          line_->call("addresses_by_arp", HostLine::Effect::reads, std::move(call)), "addresses",
          context_.log);
    } else if (domain.has_agent) {
      auto call = [name = name_](Hypervisor& asked) { return asked.addresses_by_agent(name); };
      found = co_await driver::if_answered(
          line_->call("addresses_by_agent", HostLine::Effect::reads, std::move(call)), "addresses",
          context_.log);
    }
    if (!found.empty()) co_return found.front();
  }
  co_return std::string();
}

}  // namespace nodepool::drivers::libvirt
