#include "drivers/kubernetes/pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "async/finally.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/api/classify.h"
#include "drivers/kubernetes/metadata.h"
#include "drivers/kubernetes/watcher.h"

namespace nodepool::drivers::kubernetes {

using async::Task;
using driver::CloudError;

namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kMB = 1000.0 * 1000.0;

// Reasons for a waiting container that only a configuration change fixes. The kubelet retries after
// all others: a missing secret or volume may still come.
constexpr std::array<std::string_view, 2> kHopeless = {"InvalidImageName", "ErrImageNeverPull"};

void read_containers(const Element& status, Pod& pod) {
  for (const Element& container : status.list("containerStatuses")) {
    const auto state = container.optional_object("state");
    const auto waiting = state ? state->optional_object("waiting") : std::nullopt;
    if (!waiting) continue;
    const std::string reason = waiting->text_or("reason");
    if (std::ranges::find(kHopeless, reason) != kHopeless.end()) pod.is_lost = true;
    pod.problem = reason;
    if (const std::string text = waiting->text_or("message"); !text.empty()) {
      pod.problem += ": " + text;
    }
  }
}

void read_status(const Element& status, Pod& pod) {
  pod.phase = status.text_or("phase");
  pod.is_lost = pod.phase == "Failed" || pod.phase == "Succeeded";
  for (const Element& condition : status.list("conditions")) {
    const bool is_unscheduled =
        condition.text_or("type") == "PodScheduled" && condition.text_or("status") == "False";
    if (is_unscheduled) pod.problem = condition.text_or("message");
  }
  read_containers(status, pod);
  if (const std::string text = status.text_or("message"); !text.empty()) pod.problem = text;
  if (const std::string reason = status.text_or("reason"); !reason.empty()) {
    pod.problem = reason + (pod.problem.empty() ? "" : ": ") + pod.problem;
  }
}

driver::Resources request_of(const Element& spec) {
  driver::Resources sum({{"instances", 1}});
  for (const Element& container : spec.list("containers")) {
    const auto resources = container.optional_object("resources");
    const auto requests = resources ? resources->optional_object("requests") : std::nullopt;
    if (!requests) continue;
    driver::Resources::Amounts amounts;
    for (const auto& [name, amount] : amounts_of(*requests)) amounts[name] = amount;
    sum += driver::Resources(std::move(amounts));
  }
  return sum;
}

// Kubernetes's name of a resource, its name in driver::Limits, and the unit of the latter.
std::pair<std::string, double> in_our_words(std::string_view name) {
  if (name == "cpu") return {"cores", 1};
  if (name == "memory") return {"ram", kMiB};
  if (name == "pods") return {"instances", 1};
  if (name == "ephemeral-storage") return {"ephemeral-storage", kMB};
  return {std::string(name), 1};
}

driver::Machine::State pod_state(const Pod& pod) {
  using State = driver::Machine::State;
  if (pod.is_going) return State::deleting;
  if (pod.phase == "Running") return State::running;
  if (pod.is_lost) return State::failed;
  if (pod.phase == "Pending") return State::building;
  return State::running;  // "Unknown", while its cluster node does not respond: it may run
}

// How long after the last known listing a forbidden poll may be momentary. Longer than the usual
// interval of polls.
constexpr auto kLongestRefusal = std::chrono::minutes(2);

// What a launch knows of its pod.
struct PodProgress {
  std::string reported;  // its state
  bool was_there = false;
  std::optional<async::Clock::TimePoint> known_at;  // the last known listing
};

// Returns the pod when it runs; nothing as soon as `pods` are unknown. `wait` and `progress`
// outlive it.
Task<std::optional<Pod>> wait_in(driver::SharedPoller<PodList>& pods, driver::PollWaiter& awaited,
                                 const PodWait& wait, PodProgress& progress) {
  while (true) {
    const auto list = co_await driver::if_answered(pods.next(awaited), "pods", wait.log);
    if (!list) continue;
    if (!list->is_known()) co_return std::nullopt;
    progress.known_at = wait.runtime.clock.now();
    const Pod* pod = list->find(wait.space + "/" + wait.name);
    if (pod == nullptr || pod->is_going) {
      if (!progress.was_there) continue;
      throw CloudError(CloudError::Kind::failed,
                       fmt::format("pod {} of {} has been deleted", wait.name, wait.space));
    }
    progress.was_there = true;
    if (pod->phase == "Running") co_return *pod;
    const std::string state =
        fmt::format("pod {} of {} is {}{}{}", wait.name, wait.space, pod->phase,
                    pod->problem.empty() ? "" : ": ", pod->problem);
    if (pod->is_lost) throw CloudError(CloudError::Kind::failed, state);
    if (state != progress.reported) wait.enter(state);
    progress.reported = state;
  }
}

// The listing of the one pod.
Task<PodList> read_alone(const PodWait& wait) {
  std::optional<Pod> found = co_await wait.find();
  std::vector<Pod> pods;
  if (found) pods.push_back(*std::move(found));
  co_return PodList(std::move(pods));
}

// The same as wait_in(), but reads the pod itself. Returns nothing if that is forbidden, perhaps
// only for a moment.
Task<std::optional<Pod>> wait_alone(driver::PollWaiter& awaited, const PodWait& wait,
                                    PodProgress& progress) {
  driver::SharedPoller<PodList> alone(wait.runtime, "Kubernetes pod", kUnwatched,
                                      [&wait] { return read_alone(wait); });
  const auto seen = std::exchange(awaited.seen, 0);
  Task<std::optional<Pod>> waiting = wait_in(alone, awaited, wait, progress);
  const std::function<Task<>()> stop = [&alone] { return alone.stop(); };
  try {
    co_return co_await async::finally(std::move(waiting), stop);
  } catch (const CloudError& error) {
    const auto oldest = wait.runtime.clock.now() - kLongestRefusal;
    const bool is_momentary = lacks_permission(error) && progress.known_at >= oldest;
    if (!is_momentary) throw;
    wait.log.warning("Error polling pods: {}", error.what());
  }
  awaited.seen = seen;
  co_return std::nullopt;
}

}  // namespace

void set_state(driver::Machine& machine, const Pod& pod) {
  using State = driver::Machine::State;
  machine.state = pod_state(pod);
  machine.explanation.clear();
  if (machine.state == State::running) return;
  if (machine.state == State::deleting) {
    machine.explanation = "pod " + pod.path() + " is being deleted";
    return;
  }
  machine.explanation = "pod " + pod.path() + " is in phase " + pod.phase;
  if (!pod.problem.empty()) machine.explanation += ": " + pod.problem;
}

double quantity(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  constexpr std::string_view kPrefixes = "kMGTPE";
  if (unit.empty()) return number;
  if (unit == "m") return number / 1000;
  if (unit == "u") return number / 1e6;
  if (unit == "n") return number / 1e9;
  const char prefix = unit.front() == 'K' ? 'k' : unit.front();
  const std::size_t power = kPrefixes.find(prefix);
  if (power == std::string_view::npos) return 0;
  return number * std::pow(unit.ends_with('i') ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

std::map<std::string, double, std::less<>> amounts_of(const Element& resources,
                                                      std::string_view prefix) {
  std::map<std::string, double, std::less<>> amounts;
  for (const auto& [name, text] : resources.own_texts()) {
    if (!name.starts_with(prefix)) continue;
    const auto [ours, unit] = in_our_words(std::string_view(name).substr(prefix.size()));
    amounts[ours] += quantity(text) / unit;
  }
  return amounts;
}

Pod read_pod(const Element& object) {
  const Element metadata = object.object("metadata");
  Pod pod;
  pod.space = metadata.text_or("namespace");
  pod.name = metadata.text("name");
  pod.attached = attached_to(object);
  pod.is_going = !metadata.text_or("deletionTimestamp").empty();
  if (const auto status = object.optional_object("status")) read_status(*status, pod);
  if (const auto spec = object.optional_object("spec")) {
    pod.host = spec->text_or("nodeName");
    pod.request = request_of(*spec);
  }
  return pod;
}

Task<Pod> wait_until_running(PodWait wait, driver::SharedPoller<PodList>& pods,
                             driver::PollWaiter& awaited) {
  PodProgress progress;
  while (true) {
    std::optional<Pod> running = co_await wait_in(pods, awaited, wait, progress);
    if (!running) running = co_await wait_alone(awaited, wait, progress);
    if (running) co_return *std::move(running);
    co_await wait.runtime.clock.sleep_for(kUnwatched.unknown);
  }
}

}  // namespace nodepool::drivers::kubernetes
