#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "async/runtime.h"
#include "driver/cloud_error.h"
#include "driver/launch.h"
#include "driver/statemachine/launch_journal.h"
#include "driver/statemachine/launch_recorder.h"
#include "driver/statemachine/launch_steps.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// Steps that are written to the journal in the node's record.
class JournaledSteps final : public LaunchSteps {
 public:
  // What the steps do.
  enum class Purpose { making, removal };

  // `consistency_delay`: CloudTraits::consistency_delay. `record` and `journal` outlive this.
  JournaledSteps(const async::Runtime& runtime, NodeRecord& record, LaunchJournal& journal,
                 async::Duration consistency_delay, telemetry::Logger log,
                 Purpose purpose = Purpose::making);

  // `accepted` is called once, when the cloud has accepted the creation, and the machine's id is
  // known, or the deletion.
  void on_accepted(std::function<void()> accepted) { accepted_ = std::move(accepted); }

  // `learn` is called with the machine's boot time, if that is known.
  void on_booted(std::function<void(async::Duration)> learn) { learn_ = std::move(learn); }

  // `report` is called with the error of a step whose outcome has become unknown, and with an empty
  // text when it is known.
  void on_unknown_outcome(std::function<void(std::string)> report) {
    unknown_outcome_ = std::move(report);
  }

  // `report` is called after each search for the result of a step, with its error or, if the cloud
  // has responded, an empty text. May throw, which ends the step as its outcome is.
  void on_searched(std::function<void(const std::string&)> report) {
    searched_ = std::move(report);
  }

  // Prefixes the names of the following steps: for one of several machines of the node.
  void set_scope(std::string scope) { scope_ = std::move(scope); }

  // Records the steps from now on. `recorder` outlives this.
  void record_to(LaunchRecorder& recorder) { recorder_ = &recorder; }

  async::Task<std::string> step(std::string name, Make make, Find find) override;
  bool has_begun(const std::string& name) const override { return steps_.contains(name); }
  void set_external_id(model::Json external_id) override;
  void booted(std::optional<async::Duration> taken) override {
    if (learn_ && taken) learn_(*taken);
  }
  void retract(const std::string& name) override { steps_.erase(name); }
  bool is_known_private() const override;
  void removal_accepted() override { accepted(); }
  const model::Node* node() const override { return &record_.node(); }
  void enter(std::string state) override;

 private:
  // The outcome of `find`.
  struct Lookup {
    std::optional<std::string> found;
    std::string failure;  // empty: the cloud has responded
  };

  // The calls of a step's `make` with unknown outcome while `find` works.
  struct Unanswered {
    std::optional<async::Clock::TimePoint> since;  // when the first one ended
    async::Clock::TimePoint last{};
    std::optional<CloudError> error;  // of the last one

    // Of the last ones in a row, those with an error of the API: CloudError::is_answer().
    int answers = 0;
    async::Clock::TimePoint answered_since{};  // the first of these

    void add(const CloudError& failure, async::Clock::TimePoint now);
    void reset() { *this = {}; }
    bool is_enough() const;  // whether the call is not repeated
  };

  async::Task<> begin(std::string name);
  async::Task<> end(std::string name, std::string result);
  async::Task<std::optional<std::string>> make_once(std::string name, const Make& make,
                                                    std::optional<LaunchJournal::Step> before,
                                                    Unanswered& unanswered);
  async::Task<std::optional<std::string>> find_result(std::string name, const Find& find,
                                                      Unanswered& unanswered);
  async::Task<Lookup> look_up(const Find& find);
  async::Task<> save();
  void accepted();

  async::Runtime runtime_;
  NodeRecord& record_;
  LaunchJournal& journal_;
  std::map<std::string, LaunchJournal::Step>& steps_;  // of the journal
  Purpose purpose_;
  std::string scope_;
  std::function<void()> accepted_;                    // empty: not set, or called already
  std::function<void(async::Duration)> learn_;        // empty: not set
  std::function<void(std::string)> unknown_outcome_;  // empty: not set
  std::function<void(const std::string&)> searched_;  // empty: not set
  async::Duration consistency_delay_;
  telemetry::Logger log_;
  LaunchRecorder* recorder_ = nullptr;  // nullptr: not recorded
};

}  // namespace nodepool::driver
