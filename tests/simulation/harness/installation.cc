#include "tests/simulation/harness/installation.h"

#include <fmt/format.h>

#include <algorithm>

#include "drivers/static_nodes/static_driver.h"
#include "nodescan/imaginary_hosts.h"
#include "tests/simulation/harness/chance.h"
#include "tests/simulation/harness/cloud_driver.h"
#include "tests/simulation/harness/shares_driver.h"

namespace nodepool::simulation {

namespace {

using std::chrono::seconds;

constexpr double kChanceThatTimePasses = 0.1;  // though somebody could still run

// A run that takes more steps than this will not come to an end.
constexpr std::uint64_t kMostSteps = 3'000'000;
constexpr std::uint64_t kMostStepsAtOnce = 20'000;

std::shared_ptr<Hardware> draw_hardware(async::Random& random) {
  auto hardware = std::make_shared<Hardware>();
  if (chance(random, 0.5)) hardware->unusable = 0.1;
  if (chance(random, 0.5)) hardware->reclaim_fails = 0.3;
  if (chance(random, 0.5)) hardware->needs_repair = 0.3;
  hardware->slowest_check = chance(random, 0.5) ? 0 : 10;
  hardware->slowest_take_back = chance(random, 0.5) ? 0 : 30;
  if (chance(random, 0.5)) hardware->launch_fails = 0.2 * random.fraction();
  if (chance(random, 0.5)) hardware->launch_refused = 0.3 * random.fraction();
  if (chance(random, 0.5)) hardware->answer_fails = 0.5;
  hardware->slowest_launch = chance(random, 0.2) ? 0 : 30;
  hardware->slowest_answer = chance(random, 0.5) ? 0 : 20;
  return hardware;
}

std::unique_ptr<nodescan::Scanner> imagine_hosts(const driver::ProviderContext& /*context*/) {
  return std::make_unique<nodescan::ImaginaryHosts>(std::vector<std::string>{"ssh-rsa KEY"});
}

driver::DriverRegistry make_drivers(std::shared_ptr<const Hardware> hardware, CloudWorld clouds) {
  std::vector<std::unique_ptr<driver::Driver>> drivers;
  drivers.push_back(std::make_unique<drivers::static_nodes::StaticDriver>(imagine_hosts));
  drivers.push_back(std::make_unique<CloudDriver>(clouds));
  drivers.push_back(std::make_unique<SharesDriver>(clouds.world, clouds.known));
  drivers.push_back(std::make_unique<SimulatedDriver>(std::move(hardware), clouds.world.journal));
  return driver::DriverRegistry(std::move(drivers));
}

// Requestors and people have slow links too, but do not lose answers: what they would do then is
// not what is simulated here.
coordination::FaultPlan only_slow(const coordination::FaultPlan& plan) {
  coordination::FaultPlan slow;
  slow.delay = plan.delay;
  slow.longest_delay = plan.longest_delay;
  slow.extra_resync = plan.extra_resync;
  return slow;
}

}  // namespace

Installation::Installation(World& world, const coordination::FaultPlan& launcher_faults,
                           const Disasters& disasters)
    : world_(world),
      holds_(world),
      clouds_(world.clock, world.journal),
      auditor_(world, holds_, known_),
      custody_(world, clouds_, auditor_),
      known_settings_(world.clock),
      settings_auditor_(world, known_settings_),
      foreign_auditor_(world),
      shares_auditor_(world),
      topology_(draw_topology(world.random)),
      rest_check_(world, auditor_, clouds_, custody_, topology_),
      hardware_(draw_hardware(world.random)),
      drivers_(make_drivers(hardware_, {world, clouds_, known_, custody_, *hardware_})),
      launcher_faults_(launcher_faults),
      requestors_(static_cast<std::size_t>(between(world.random, 1, 3))),
      operator_(std::make_unique<OperatorProcess>(
          world, holds_, auditor_, only_slow(launcher_faults_), chance(world.random, 0.5))) {
  for (const auto& [name, provider] : topology_.providers) {
    if (provider.is_cloud()) clouds_.set_limits(name, draw_cloud_limits(world.random));
  }
  for (const auto& [name, provider] : topology_.providers) {
    if (provider.is_cloud() && disasters.has_strangers) custody_.add_strangers(name);
  }
  if (disasters.shares_seed) start_shares(*disasters.shares_seed);
  if (disasters.has_peers) add_peer(topology_);
  launchers_.resize(topology_.launchers.size());
  if (disasters.has_builder) start_builder(disasters.seed);
  if (disasters.has_foreigner) start_foreigner(~disasters.seed);
  for (std::size_t i = 0; i < launchers_.size(); ++i) start_launcher(i);
  for (std::size_t i = 0; i < requestors_.size(); ++i) start_requestor(i);
  hardware_->faults = disasters.cloud_faults;
  for (const Disaster& disaster : disasters.list) {
    later(disaster.after, [this, disaster] { befall(disaster); });
  }
}

std::vector<Process*> Installation::processes() {
  std::vector<Process*> all;
  for (const LauncherSlot& slot : launchers_) {
    if (slot.process) all.push_back(slot.process.get());
  }
  for (const auto& launcher : leaving_) all.push_back(launcher.get());
  for (const RequestorSlot& slot : requestors_) {
    if (slot.process) all.push_back(slot.process.get());
  }
  all.push_back(operator_.get());
  if (builder_) all.push_back(builder_.get());
  if (foreigner_) all.push_back(foreigner_.get());
  if (leak_operator_) all.push_back(leak_operator_.get());
  return all;
}

void Installation::start_shares(std::uint64_t seed) {
  async::Random random(seed);
  add_shares(topology_, random);
  shares_auditor_.configured(topology_);
}

void Installation::start_builder(std::uint64_t seed) {
  topology_.has_builder = true;
  std::vector<std::string> clouds;
  for (const auto& [name, provider] : topology_.providers) {
    if (provider.is_cloud()) clouds.push_back(name);
  }
  async::Random random(seed);
  builder_ = std::make_unique<BuilderProcess>(world_, random, clouds_, std::move(clouds),
                                              only_slow(launcher_faults_));
}

void Installation::start_foreigner(std::uint64_t seed) {
  async::Random random(seed);
  foreigner_ = std::make_unique<ForeignProcess>(world_, random, only_slow(launcher_faults_));
}

// Its configuration has all the providers.
void Installation::start_leak_operator() {
  Topology all = topology_;
  all.launchers = {{}};
  for (const auto& [name, provider] : all.providers) all.launchers.front().push_back(name);
  leak_operator_ =
      std::make_unique<LeakOperatorProcess>(world_, custody_, drivers_, to_config(all, 0));
}

void Installation::start_launcher(std::size_t index) {
  note(fmt::format("launcher{} starts with\n{}", index, to_yaml(topology_, index)));
  const config::Config config = to_config(topology_, index);
  launchers_[index].process = std::make_unique<LauncherProcess>(
      world_, fmt::format("launcher{}", index), launcher_faults_, drivers_, config);
  report_tenant_limits(*launchers_[index].process, config);
  known_settings_.given(launchers_[index].process->number(), settings_of(config));
  if (store_is_away_) launchers_[index].process->suspend();
}

void Installation::reconfigure(std::size_t index) {
  shares_auditor_.configured(topology_);
  if (!launchers_[index].process) return;
  note(fmt::format("launcher{} reloads\n{}", index, to_yaml(topology_, index)));
  const config::Config config = to_config(topology_, index);
  report_tenant_limits(*launchers_[index].process, config);
  known_settings_.given(launchers_[index].process->number(), settings_of(config));
  launchers_[index].process->reconfigure(config);
}

void Installation::report_tenant_limits(const LauncherProcess& launcher,
                                        const config::Config& config) {
  std::map<std::string, driver::Limits> limits;
  for (const auto& [tenant, most] : config.tenant_limits) {
    limits[tenant].insert(most.limits.begin(), most.limits.end());
  }
  known_.tenants_may_take(launcher.number(), limits);
}

void Installation::start_requestor(std::size_t index) {
  requestors_[index].process =
      std::make_unique<RequestorProcess>(world_, holds_, fmt::format("zuul{}", index),
                                         label_names(topology_), only_slow(launcher_faults_));
  if (store_is_away_) requestors_[index].process->suspend();
  if (calm_) requestors_[index].process->finish();
}

void Installation::later(async::Duration pause, std::function<void()> action) {
  pending_.push_back({world_.clock.now() + pause, std::move(action)});
}

// --- steps

std::uint64_t Installation::turns_of_launchers() const {
  std::uint64_t turns = 0;
  for (const LauncherSlot& slot : launchers_) {
    if (slot.process) turns += slot.process->turns();
  }
  return turns;
}

bool Installation::step(async::Clock::TimePoint until) {
  if (++steps_ > kMostSteps) throw Stuck("too many steps");
  if (++steps_at_once_ > kMostStepsAtOnce) throw Stuck("too many steps without time passing");
  std::vector<Process*> runnable = processes();
  std::erase_if(runnable, [this](Process* process) { return quiet_.contains(process->number()); });
  const bool time_passes = !calm_ && chance(world_.random, kChanceThatTimePasses);
  if (!runnable.empty() && !time_passes) {
    Process* process = pick(world_.random, runnable);
    if (process->poll()) {
      quiet_.clear();
    } else {
      quiet_.insert(process->number());
    }
    for (LauncherSlot& slot : launchers_) {
      if (slot.process && slot.process->up_to_date()) {
        known_settings_.went_over(slot.process->number());
      }
      if (!slot.process || !slot.process->ended()) continue;
      slot.process.reset();
      slot.back_at = world_.clock.now() + seconds(5);
    }
    std::erase_if(leaving_, [](const auto& launcher) { return launcher->ended(); });
    return true;
  }
  const async::Clock::TimePoint next = std::min(world_.clock.next_wakeup(), next_due());
  if (next > world_.clock.now()) steps_at_once_ = 0;
  world_.clock.advance_to(std::min(next, until));
  do_due();
  quiet_.clear();
  return next <= until;
}

void Installation::run_until(async::Clock::TimePoint until) {
  while (step(until)) {
  }
}

async::Clock::TimePoint Installation::next_due() {
  async::Clock::TimePoint next = async::Clock::TimePoint::max();
  for (const Pending& pending : pending_) next = std::min(next, pending.at);
  for (const LauncherSlot& slot : launchers_) {
    if (!slot.process) next = std::min(next, slot.back_at);
  }
  for (const RequestorSlot& slot : requestors_) {
    if (!slot.process) next = std::min(next, slot.back_at);
  }
  return next;
}

void Installation::do_due() {
  const async::Clock::TimePoint now = world_.clock.now();
  std::vector<Pending> due;
  for (Pending& pending : pending_) {
    if (pending.at <= now) due.push_back(std::move(pending));
  }
  std::erase_if(pending_, [now](const Pending& pending) { return pending.at <= now; });
  for (const Pending& pending : due) pending.action();
  for (std::size_t i = 0; i < launchers_.size(); ++i) {
    if (!launchers_[i].process && launchers_[i].back_at <= now) start_launcher(i);
  }
  for (std::size_t i = 0; i < requestors_.size(); ++i) {
    if (!requestors_[i].process && requestors_[i].back_at <= now) start_requestor(i);
  }
}

// --- coming to rest

void Installation::calm_down() {
  note("no more faults");
  calm_ = true;
  *hardware_ = Hardware{};
  launcher_faults_ = {};
  while (!pending_.empty()) {
    for (const Pending& pending : std::exchange(pending_, {})) pending.action();
  }
  for (LauncherSlot& slot : launchers_) slot.back_at = world_.clock.now();
  for (RequestorSlot& slot : requestors_) slot.back_at = world_.clock.now();
  for (Process* process : processes()) process->set_faults({});
  settle_topology();
  for (std::size_t i = 0; i < launchers_.size(); ++i) reconfigure(i);
  for (const RequestorSlot& slot : requestors_) {
    if (slot.process) slot.process->finish();
  }
  operator_->finish();
  if (builder_) builder_->finish();
  if (foreigner_) foreigner_->finish();
  if (custody_.was_replaced()) start_leak_operator();
  quiet_.clear();
}

// Stock that is kept is filled up again and again if there is no room for it: half of the runs end
// without, and in silence.
void Installation::settle_topology() {
  settle_sections(topology_);
  const bool keeps_stock = chance(world_.random, 0.5);
  for (const std::string& name : kLabels) {
    LabelSpec& label = topology_.labels[name];
    if (!keeps_stock) label.min_ready = 0;
  }
  // What needs more than its tenant's limit waits until that is raised.
  for (auto& [tenant, most] : topology_.tenants) most = std::max(most, kMostNodesAtOnce);
  // To ignore what the cloud says makes sense only where it allows more than that.
  for (auto& [name, provider] : topology_.providers) {
    const bool is_ignored = std::ranges::any_of(provider.pools, &PoolSpec::ignore_provider_quota);
    if (is_ignored) clouds_.set_limits(name, {});
  }
}

// --- at rest

void Installation::check_answered() {
  rest_check_.requests_are_answered();
  for (const RequestorSlot& slot : requestors_) {
    if (slot.process) slot.process->give_up();
  }
  for (const std::string& name : kLabels) topology_.labels[name].max_ready_age = 0;
  for (std::size_t i = 0; i < launchers_.size(); ++i) reconfigure(i);
  quiet_.clear();
}

void Installation::check_rest() {
  for (const LauncherSlot& slot : launchers_) {
    if (!slot.process || !slot.process->up_to_date()) {
      world_.journal.violation("a launcher is not up");
      continue;
    }
    for (const std::string& problem : slot.process->problems()) {
      world_.journal.violation(slot.process->name() + " at rest: " + problem);
    }
  }
  if (!leaving_.empty()) world_.journal.violation("a launcher that is stopped does not end");
  rest_check_.all_is_in_order();
}

}  // namespace nodepool::simulation
