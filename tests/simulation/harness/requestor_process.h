#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "coordination/lock_sweeper.h"
#include "model/node.h"
#include "model/node_request.h"
#include "tests/simulation/harness/holds.h"
#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

using async::Task;

// A requestor: mostly as Zuul behaves, sometimes badly. Its jobs ask for nodes at random times.
class RequestorProcess final : public Process {
 public:
  // `system_id` is the same after a restart, so that it finds the requests of its former self.
  // `labels`: what it asks for.
  RequestorProcess(World& world, Holds& holds, std::string system_id,
                   std::vector<std::string> labels, coordination::FaultPlan plan);

  // From now on no new jobs; those that wait do so until they are answered, and requests that
  // nobody waits for are removed.
  void finish();

  // Withdraws the requests that have still not been answered.
  void give_up();

 private:
  // What a job is going to do.
  struct Plan {
    enum class Ending {
      used,          // the usual one
      left_ready,    // the build was aborted before it began
      left_in_use,   // unlocks without having said that it is done
      held,          // for a person to look at
      not_accepted,  // never reacts
      withdrawn,     // deletes the request instead of accepting
    };
    std::vector<std::string> labels;
    std::string priority = "200";
    std::string tenant;
    bool reuse = true;
    async::Duration patience{};  // cancels after this
    bool revises = false;
    Ending ending = Ending::used;
    async::Duration setup{};
    async::Duration run{};
  };
  struct Held {
    std::string id;
    std::unique_ptr<coordination::Lock> lock;
  };

  Plan draw_plan();
  Task<> start_jobs();
  Task<> clean_up_again_and_again();
  Task<bool> clean_up();
  Task<> job(Plan plan);
  Task<> serve(const Plan& plan, const std::string& id);
  Task<std::string> ask(const Plan& plan);
  Task<std::optional<model::NodeRequest>> await_result(const Plan& plan, std::string id);
  Task<> revise(std::string id);
  Task<> use(const Plan& plan, model::NodeRequest request);
  Task<bool> accept(const model::NodeRequest& request, std::vector<Held>& held);
  Task<> run_build(const Plan& plan, const std::vector<Held>& held);
  Task<> set_state(const Held& held, model::NodeState state);
  Task<> give_back(const std::string& request, std::vector<Held>& held);
  Task<> remove_surely(std::string path);
  Task<> leave(coordination::Lock& lock);
  Task<> lease_job(Plan plan);
  std::string job_name(const std::string& request) const { return name() + "/" + request; }

  Holds& holds_;
  coordination::LockSweeper lock_sweeper_;
  std::string system_id_;
  std::vector<std::string> labels_;
  bool finishing_ = false;
  bool finished_ = false;
  bool gives_up_ = false;
  std::set<std::string> own_;                    // requests with a job
  std::map<std::string, async::Event> changed_;  // by request
  coordination::Subscription watch_;
  async::Event finish_;
  async::TaskScope scope_;
};

}  // namespace nodepool::simulation
