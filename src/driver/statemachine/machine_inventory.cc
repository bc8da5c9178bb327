#include "driver/statemachine/machine_inventory.h"

#include <fmt/format.h>

#include <ranges>
#include <utility>

#include "async/deadline.h"
#include "driver/ownership.h"

namespace nodepool::driver {

namespace {

// Maximum age of a listing in which a machine runs, as many nodes are handed out at once.
constexpr auto kAgeOfGoodNews = std::chrono::seconds(10);

// Maximum age of a listing that shows terminated machines.
constexpr auto kAgeOfTerminations = std::chrono::seconds(10);

// Maximum age of the last listing when a recent one takes long. The launcher checks for terminated
// machines every minute, which may take a while.
constexpr auto kAgeOfLastNews = std::chrono::seconds(90);

// How long a request for a ready node waits for a recent listing, from when that was sent, so that
// a slow one does not delay each request.
constexpr auto kPatience = std::chrono::seconds(2);

// How long it waits if the last listing shows that the machine does not run.
constexpr auto kPatienceAfterBadNews = std::chrono::seconds(15);

// Between two looks for a machine that does not run: the second listing is another one.
constexpr auto kPause = Adapter::kListingAge + std::chrono::seconds(1);

Task<IndexedMachines> ask(Adapter& adapter, async::Clock& clock) {
  const auto asked_at = clock.now();
  MachineList list = co_await adapter.list();
  co_return IndexedMachines(std::move(list), asked_at);
}

std::string_view word_for(Machine::State state) {
  switch (state) {
    case Machine::State::building:
      return "is not up yet";
    case Machine::State::running:
      return "is running";
    case Machine::State::stopped:
      return "has stopped";
    case Machine::State::failed:
      return "has failed";
    case Machine::State::deleting:
      return "is being deleted";
    case Machine::State::deleted:
      return "has been deleted";
  }
  return "";
}

// Why a machine does not run, as one sentence.
std::string explanation_of(const Machine& machine) {
  if (!machine.explanation.empty()) return machine.explanation;
  const Resource resource = machine.as_resource();
  return fmt::format("{} {} {}", resource.type, resource.id, word_for(machine.state));
}

bool runs(const Machine* machine) {
  return machine != nullptr && machine->state == Machine::State::running;
}

bool has_ended(const Machine& machine) {
  return machine.state != Machine::State::building && machine.state != Machine::State::running;
}

}  // namespace

IndexedMachines::IndexedMachines(MachineList list, async::Clock::TimePoint asked_at)
    : list_(std::move(list)), asked_at_(asked_at) {
  for (std::size_t i = 0; i < list_.machines.size(); ++i) {
    for (std::string& id : identifiers_in(list_.machines[i].external_id)) {
      index_.emplace(std::move(id), i);
    }
  }
}

const Machine* IndexedMachines::find(const model::Json& external_id) const {
  for (const std::string& id : identifiers_in(external_id)) {
    const auto [begin, end] = index_.equal_range(id);
    for (const auto& [key, i] : std::ranges::subrange(begin, end)) {
      const Machine& machine = list_.machines[i];
      if (is_same_machine(machine.external_id, external_id)) return &machine;
    }
  }
  return nullptr;
}

MachineInventory::MachineInventory(const async::Runtime& runtime, Adapter& adapter,
                                   telemetry::Logger log)
    : runtime_(runtime),
      adapter_(adapter),
      log_(std::move(log)),
      listing_(runtime, "machines", [this] { return ask(adapter_, runtime_.clock); }) {}

// Clocks of launchers differ a little; a node from the far future is from before the clock was set
// back.
bool MachineInventory::has_changed_within(double state_time, async::Duration age) const {
  const std::chrono::duration<double> since(runtime_.clock.wall_seconds() - state_time);
  return std::chrono::abs(since) < age;
}

// Whether the listing may be from before the node's `state_time`, and lack a machine as new as that
// for the consistency delay.
bool MachineInventory::may_precede(const IndexedMachines& machines, double state_time) const {
  const async::Duration age = runtime_.clock.now() - machines.asked_at();
  return has_changed_within(state_time,
                            age + Adapter::kListingAge + adapter_.traits().consistency_delay);
}

bool MachineInventory::may_be_hidden(double state_time, const IndexedMachines& machines) const {
  return !machines.is_complete() || may_precede(machines, state_time);
}

// Until when a ready node's request waits for a recent listing. `last`: the last one; may be null.
async::Clock::TimePoint MachineInventory::deadline_of_check(const IndexedMachines* last,
                                                            const model::Json& external_id,
                                                            double state_time) const {
  const auto soon = listing_.sent_at() + kPatience;
  if (last == nullptr) return soon;
  const Machine* machine = last->find(external_id);
  if (runs(machine)) return soon;
  const bool is_unknown =
      machine == nullptr ? may_be_hidden(state_time, *last) : may_precede(*last, state_time);
  return is_unknown ? soon : runtime_.clock.now() + kPatienceAfterBadNews;
}

// Whether a recent listing shows that the machine runs, or says nothing of it: incomplete listings
// may always lack it, and its request does not wait for more than two of them.
Task<bool> MachineInventory::runs_or_is_unknown(model::Json external_id) {
  Pointer machines = co_await list(kAgeOfGoodNews);
  const Machine* machine = machines->find(external_id);
  if (machine == nullptr && !machines->is_complete()) {
    machines = co_await list();
    machine = machines->find(external_id);
    if (machine == nullptr && !machines->is_complete()) co_return true;
  }
  co_return runs(machine);
}

Task<bool> MachineInventory::is_running(std::string node_id, model::Json external_id,
                                        double state_time) {
  const Pointer last = listing_.last(kAgeOfLastNews);
  bool has_just_run = last != nullptr && runs(last->find(external_id));
  std::string problem;
  std::string unknown;
  try {
    const auto deadline = deadline_of_check(last.get(), external_id, state_time);
    Task<bool> check = runs_or_is_unknown(external_id);
    const bool may_run = co_await async::with_deadline(runtime_.clock, deadline, std::move(check),
                                                       "listing the machines");
    if (may_run) co_return true;
    has_just_run = false;  // by newer news
    co_await runtime_.clock.sleep_for(kPause);
    const Pointer machines = co_await list();
    const Machine* machine = machines->find(external_id);
    if (runs(machine)) co_return true;
    if (machine == nullptr) {
      if (may_be_hidden(state_time, *machines)) co_return true;
      const bool is_absent = co_await adapter_.is_absent(external_id);
      if (!is_absent) co_return true;
    }
    problem = machine == nullptr ? "its machine is not listed" : explanation_of(*machine);
  } catch (const CloudError& error) {
    unknown = error.what();
  } catch (const async::DeadlineExceeded& error) {
    if (has_just_run) co_return true;
    unknown = error.what();
  }
  if (!unknown.empty()) {
    log_.warning("Cannot check node {}, assuming that it is healthy: {}", node_id, unknown);
    co_return true;
  }
  log_.warning("Node {}: {}", node_id, problem);
  co_return false;
}

// A machine that is not listed may have ended long ago, or belong to another account. One that is
// being launched may not run yet: a namespace without its pod counts as stopped.
Task<std::map<std::string, std::string>> MachineInventory::terminated(
    const model::NodeTable& nodes) {
  const auto begun = runtime_.clock.now();
  const Pointer machines = co_await list(kAgeOfTerminations);
  const async::Duration oldest = runtime_.clock.now() - begun + kAgeOfTerminations +
                                 Adapter::kListingAge + adapter_.traits().consistency_delay;
  std::map<std::string, std::string> reasons;
  for (const Machine& machine : machines->all()) {
    if (!has_ended(machine)) continue;
    const model::Node* node = nodes.find(value_of(machine.metadata, kNodeIdKey));
    if (node == nullptr || machines->find(node->external_id) != &machine) continue;
    if (node->state == model::NodeState::building || has_changed_within(node->state_time, oldest))
      continue;
    reasons.emplace(node->id, explanation_of(machine));
  }
  co_return reasons;
}

}  // namespace nodepool::driver
