#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "async/runtime.h"
#include "driver/launch.h"
#include "driver/statemachine/launch_journal.h"
#include "driver/statemachine/launch_recorder.h"
#include "driver/statemachine/launch_steps.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// A state machine whose steps are written to the record of the node that it is for.
class JournaledSteps final : public LaunchSteps {
 public:
  // What the steps do.
  enum class Purpose { making, removal };

  // `consistency_delay`: Adapter::consistency_delay(). Keeps references.
  JournaledSteps(const async::Runtime& runtime, NodeRecord& record, LaunchJournal& journal,
                 async::Duration consistency_delay, telemetry::Logger log,
                 Purpose purpose = Purpose::making);

  // Is called once, when the cloud has taken the order: to make it, its id is known then; or to
  // delete it.
  void on_accepted(std::function<void()> accepted) { accepted_ = std::move(accepted); }

  // For a thing of its own among several of the node: its steps are told by this name.
  void set_scope(std::string scope) { scope_ = std::move(scope); }

  // Is told of the steps from now on; outlives this.
  void tell(LaunchRecorder& recorder) { recorder_ = &recorder; }

  async::Task<std::string> step(std::string name, Make make, Find find) override;
  void set_external_id(model::Json external_id) override;
  void removal_accepted() override { accepted(); }
  void enter(std::string state) override;

 private:
  // What `find` has come to.
  struct Look {
    std::optional<std::string> found;
    std::string failure;  // why the cloud does not say; empty: it has said
  };

  async::Task<> begin(std::string name);
  async::Task<> end(std::string name, std::string result);
  async::Task<std::optional<std::string>> make_once(std::string name, const Make& make,
                                                    std::optional<LaunchJournal::Step> before);
  async::Task<std::optional<std::string>> look_for(std::string name, const Find& find);
  async::Task<Look> look_once(const Find& find);
  async::Task<> save();
  void accepted();

  async::Runtime runtime_;
  NodeRecord& record_;
  LaunchJournal& journal_;
  std::map<std::string, LaunchJournal::Step>& steps_;  // of the journal
  Purpose purpose_;
  std::string scope_;
  std::function<void()> accepted_;  // empty: nobody wants to know, or has been told
  async::Duration settling_time_;
  telemetry::Logger log_;
  LaunchRecorder* recorder_ = nullptr;  // nullptr: nobody wants to know
};

}  // namespace nodepool::driver
