#include "driver/statemachine/journaled_steps.h"

#include <utility>

#include "driver/cloud_error.h"

namespace nodepool::driver {

using async::Task;

namespace {

// Between two calls of `find`.
constexpr auto kFindInterval = std::chrono::seconds(1);

// How long `make` is called again after an unknown outcome, although `find` works.
constexpr auto kRepeatLimit = std::chrono::minutes(10);

// The same for errors that the cloud's API itself reports: another pool may serve the request.
constexpr auto kAnsweredRepeatLimit = std::chrono::seconds(30);
constexpr int kAnsweredCalls = 3;

}  // namespace

JournaledSteps::JournaledSteps(const async::Runtime& runtime, NodeRecord& record,
                               LaunchJournal& journal, async::Duration consistency_delay,
                               telemetry::Logger log, Purpose purpose)
    : runtime_(runtime),
      record_(record),
      journal_(journal),
      steps_(purpose == Purpose::making ? journal.steps : journal.removal),
      purpose_(purpose),
      consistency_delay_(consistency_delay),
      log_(std::move(log)) {}

void JournaledSteps::Unanswered::add(const CloudError& failure, async::Clock::TimePoint now) {
  last = now;
  if (!since) since = now;
  error = failure;
  if (!failure.is_answer()) {
    answers = 0;
    return;
  }
  if (answers++ == 0) answered_since = now;
}

bool JournaledSteps::Unanswered::is_enough() const {
  if (!since) return false;
  if (last - *since >= kRepeatLimit || answers >= kAnsweredCalls) return true;
  return answers > 0 && last - answered_since >= kAnsweredRepeatLimit;
}

Task<std::string> JournaledSteps::step(std::string name, Make make, Find find) {
  if (!scope_.empty()) name = scope_ + ": " + name;
  Unanswered unanswered;
  while (true) {
    const auto known = steps_.find(name);
    std::optional<LaunchJournal::Step> before;
    if (known != steps_.end()) before = known->second;
    if (before && before->result) co_return *before->result;
    std::optional<std::string> result;
    if (before) result = co_await find_result(name, find, unanswered);
    if (!result && unanswered.is_enough()) {
      // The step stays uncertain: the rollback searches once more.
      const CloudError& last = *unanswered.error;
      throw CloudError(CloudError::Kind::failed, last.what(), last.launch_result(), last.code());
    }
    if (!result) result = co_await make_once(name, make, before, unanswered);
    if (!result) continue;
    if (unknown_outcome_) unknown_outcome_({});
    co_await end(name, *result);
    co_return *result;
  }
}

// Returns nothing if the outcome is unknown. `before` is the step as an earlier call of `make` with
// unknown outcome left it. It is restored if this call is refused, which says nothing about the
// earlier one.
Task<std::optional<std::string>> JournaledSteps::make_once(
    std::string name, const Make& make, std::optional<LaunchJournal::Step> before,
    Unanswered& unanswered) {
  co_await begin(name);
  try {
    co_return co_await make();
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::unknown_outcome) {
      steps_.erase(name);
      if (before) steps_.emplace(name, *before);
      throw;
    }
    log_.warning("Outcome of step \"{}\" is unknown: {}", name, error.what());
    unanswered.add(error, runtime_.clock.now());
    if (unknown_outcome_) unknown_outcome_(error.what());
  }
  co_return std::nullopt;
}

// Writes the intent to the store before the call to the cloud.
Task<> JournaledSteps::begin(std::string name) {
  if (recorder_ != nullptr) recorder_->entered(name);
  steps_[name] = {runtime_.clock.wall_seconds(), std::nullopt};
  co_await save();
}

Task<> JournaledSteps::end(std::string name, std::string result) {
  steps_[name].result = std::move(result);
  co_await save();
}

// Returns nothing if the step was not done, for which the cloud must respond after the consistency
// delay. The attempt's timeout limits the wait. The delay counts from now, not from the beginning
// of the step: the call may have been queued, and the system clock may have been adjusted. While
// the cloud does not respond to `find` either, this is an outage: the limit for `make` begins anew.
Task<std::optional<std::string>> JournaledSteps::find_result(std::string name, const Find& find,
                                                             Unanswered& unanswered) {
  const auto shows_until = runtime_.clock.now() + consistency_delay_;
  std::string last_failure;
  while (true) {
    const bool last = runtime_.clock.now() >= shows_until;
    const Lookup lookup = co_await look_up(find);
    if (searched_) searched_(lookup.failure);
    if (lookup.found) {
      log_.info("Step \"{}\" was already done: {}", name, *lookup.found);
      co_return lookup.found;
    }
    if (last && lookup.failure.empty()) break;
    if (lookup.failure != last_failure && !lookup.failure.empty()) {
      log_.warning("Cannot determine whether step \"{}\" was done: {}", name, lookup.failure);
    }
    if (!lookup.failure.empty()) unanswered.reset();
    last_failure = lookup.failure;
    co_await runtime_.clock.sleep_for(kFindInterval);
  }
  log_.info("Step \"{}\" was not done, doing it now", name);
  co_return std::nullopt;
}

Task<JournaledSteps::Lookup> JournaledSteps::look_up(const Find& find) {
  Lookup lookup;
  try {
    lookup.found = co_await find();
  } catch (const async::Cancelled&) {
    throw;
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::permanent) throw;
    lookup.failure = error.what();
  } catch (const std::exception& error) {
    lookup.failure = error.what();
  }
  co_return lookup;
}

Task<> JournaledSteps::save() {
  record_.node().launch_journal = journal_.to_json();
  co_await record_.save();
}

void JournaledSteps::set_external_id(model::Json external_id) {
  if (purpose_ == Purpose::removal) return;  // the id stays until all is deleted
  record_.node().external_id = std::move(external_id);
  accepted();
}

// A launch that has not succeeded may have made an address that the record does not have: it has a
// journal or, if it is the Python Nodepool's, no address at all.
bool JournaledSteps::is_known_private() const {
  const model::Node& node = record_.node();
  return purpose_ == Purpose::removal && node.launch_journal.is_null() &&
         !node.private_ipv4.value_or("").empty() && node.public_ipv4.value_or("").empty();
}

void JournaledSteps::accepted() {
  if (const auto notify = std::exchange(accepted_, nullptr)) notify();
}

void JournaledSteps::enter(std::string state) {
  log_.debug("Machine is {}", state);
  if (recorder_ != nullptr) recorder_->entered(state);
}

}  // namespace nodepool::driver
