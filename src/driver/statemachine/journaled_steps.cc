#include "driver/statemachine/journaled_steps.h"

#include <utility>

#include "driver/cloud_error.h"

namespace nodepool::driver {

using async::Task;

namespace {

// Between two looks for something that may have been made.
constexpr auto kLookAgain = std::chrono::seconds(1);

}  // namespace

JournaledSteps::JournaledSteps(const async::Runtime& runtime, NodeRecord& record,
                               LaunchJournal& journal, async::Duration consistency_delay,
                               telemetry::Logger log, Purpose purpose)
    : runtime_(runtime),
      record_(record),
      journal_(journal),
      steps_(purpose == Purpose::making ? journal.steps : journal.removal),
      purpose_(purpose),
      settling_time_(consistency_delay),
      log_(std::move(log)) {}

Task<std::string> JournaledSteps::step(std::string name, Make make, Find find) {
  if (!scope_.empty()) name = scope_ + ": " + name;
  while (true) {
    const auto known = steps_.find(name);
    std::optional<LaunchJournal::Step> before;
    if (known != steps_.end()) before = known->second;
    if (before && before->result) co_return *before->result;
    std::optional<std::string> result;
    if (before) result = co_await look_for(name, find);
    if (!result) result = co_await make_once(name, make, before);
    if (!result) continue;
    co_await end(name, *result);
    co_return *result;
  }
}

// Nothing: nobody knows whether it has been done. `before` is the step as an earlier call of `make`
// has left it, whose outcome nobody knows either: that this one is refused says nothing of that.
Task<std::optional<std::string>> JournaledSteps::make_once(
    std::string name, const Make& make, std::optional<LaunchJournal::Step> before) {
  co_await begin(name);
  try {
    co_return co_await make();
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::unknown_outcome) {
      steps_.erase(name);
      if (before) steps_.emplace(name, *before);
      throw;
    }
    log_.warning("Step \"{}\" may have been done: {}", name, error.what());
  }
  co_return std::nullopt;
}

// The intent goes to the store before the call goes to the cloud.
Task<> JournaledSteps::begin(std::string name) {
  if (recorder_ != nullptr) recorder_->entered(name);
  steps_[name] = {runtime_.clock.wall_seconds(), std::nullopt};
  co_await save();
}

Task<> JournaledSteps::end(std::string name, std::string result) {
  steps_[name].result = std::move(result);
  co_await save();
}

// Nothing: it was not done. Only a look that the cloud has answered can tell that; the time limit
// of the attempt ends the waiting for one. When the step was begun says little: the call may have
// waited for its turn, and clocks are set.
Task<std::optional<std::string>> JournaledSteps::look_for(std::string name, const Find& find) {
  const auto shows_until = runtime_.clock.now() + settling_time_;
  std::string trouble;
  while (true) {
    const bool last = runtime_.clock.now() >= shows_until;
    const Look look = co_await look_once(find);
    if (look.found) {
      log_.info("Step \"{}\" had been done: {}", name, *look.found);
      co_return look.found;
    }
    if (last && look.failure.empty()) break;
    if (look.failure != trouble && !look.failure.empty()) {
      log_.warning("Nobody can say whether step \"{}\" has been done: {}", name, look.failure);
    }
    trouble = look.failure;
    co_await runtime_.clock.sleep_for(kLookAgain);
  }
  log_.info("Step \"{}\" had not been done, doing it", name);
  co_return std::nullopt;
}

Task<JournaledSteps::Look> JournaledSteps::look_once(const Find& find) {
  Look look;
  try {
    look.found = co_await find();
  } catch (const async::Cancelled&) {
    throw;
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::permanent) throw;
    look.failure = error.what();
  } catch (const std::exception& error) {
    look.failure = error.what();
  }
  co_return look;
}

Task<> JournaledSteps::save() {
  record_.node().launch_journal = journal_.to_json();
  co_await record_.save();
}

void JournaledSteps::set_external_id(model::Json external_id) {
  if (purpose_ == Purpose::removal) return;  // what is deleted keeps its id
  record_.node().external_id = std::move(external_id);
  accepted();
}

void JournaledSteps::accepted() {
  if (const auto told = std::exchange(accepted_, nullptr)) told();
}

void JournaledSteps::enter(std::string state) {
  log_.debug("Machine is {}", state);
  if (recorder_ != nullptr) recorder_->entered(state);
}

}  // namespace nodepool::driver
