#include "driver/statemachine/journalled_machine.h"

#include "driver/cloud_error.h"

namespace nodepool::driver {

using async::Task;

namespace {

// Between two looks for something that may have been made.
constexpr auto kLookAgain = std::chrono::seconds(1);

}  // namespace

JournalledMachine::JournalledMachine(const async::Runtime& runtime, NodeLaunch& launch,
                                     LaunchJournal& journal, async::Duration settling_time,
                                     telemetry::Logger log)
    : runtime_(runtime),
      launch_(launch),
      journal_(journal),
      settling_time_(settling_time),
      log_(std::move(log)) {}

Task<std::string> JournalledMachine::step(std::string name, Make make, Find find) {
  const auto known = journal_.steps.find(name);
  bool uncertain = known != journal_.steps.end();
  if (uncertain && known->second.result) co_return *known->second.result;
  while (true) {
    std::optional<std::string> result;
    if (uncertain) result = co_await look_for(name, find);
    if (!result) {
      co_await begin(name);
      try {
        result = co_await make();
      } catch (const CloudError& error) {
        if (error.kind() != CloudError::Kind::unknown_outcome) {
          journal_.steps.erase(name);  // it was not done
          throw;
        }
        log_.warning("Step \"{}\" may have been done: {}", name, error.what());
      }
    }
    if (result) {
      co_await end(name, *result);
      co_return *result;
    }
    uncertain = true;
  }
}

// The intent goes to the store before the call goes to the cloud.
Task<> JournalledMachine::begin(std::string name) {
  journal_.steps[name] = {runtime_.clock.wall_seconds(), std::nullopt};
  co_await save();
}

Task<> JournalledMachine::end(std::string name, std::string result) {
  journal_.steps[name].result = std::move(result);
  co_await save();
}

Task<std::optional<std::string>> JournalledMachine::look_for(std::string name, Find find) {
  const double seconds = std::chrono::duration<double>(settling_time_).count();
  const double shows_until = journal_.steps.at(name).begun + seconds;
  // The clock of the record's writer may be ahead of ours.
  const auto until = runtime_.clock.now() + settling_time_;
  while (true) {
    const bool last = runtime_.clock.wall_seconds() >= shows_until || runtime_.clock.now() >= until;
    std::optional<std::string> found = co_await find();
    if (found) {
      log_.info("Step \"{}\" had been done: {}", name, *found);
      co_return found;
    }
    if (last) break;
    co_await runtime_.clock.sleep_for(kLookAgain);
  }
  log_.info("Step \"{}\" had not been done, doing it", name);
  co_return std::nullopt;
}

Task<> JournalledMachine::save() {
  launch_.node().launch_journal = journal_.to_json();
  co_await launch_.save();
}

void JournalledMachine::set_external_id(model::Json external_id) {
  launch_.node().external_id = std::move(external_id);
}

void JournalledMachine::enter(std::string state) {
  log_.debug("Machine is {}", state);
}

}  // namespace nodepool::driver
