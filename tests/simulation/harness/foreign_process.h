#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/task_scope.h"
#include "coordination/lock.h"
#include "coordination/lock_sweeper.h"
#include "model/node.h"
#include "model/node_request.h"
#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

using async::Task;

// Somebody else's launcher and requestor on the same store, with a provider and a label of their
// own: it looks at everything every few seconds, writes what it wants to without a look at
// versions, and its records have keys that nobody else knows.
class ForeignProcess final : public Process {
 public:
  static constexpr std::string_view kProvider = "python0";
  static constexpr std::string_view kLabel = "foreign";
  static constexpr std::string_view kRequestor = "foreign-zuul";
  static constexpr std::string_view kPool = "foreign.example-PoolWorker.python0-main";

  ForeignProcess(World& world, async::Random& seeds, coordination::FaultPlan plan);

  // Asks for nothing more.
  void finish();

 private:
  async::TaskScope::ErrorHandler report();
  Task<> serve();
  Task<> look_around();
  Task<> keep_registered();
  Task<> look_at_request(std::string id);
  Task<> decline_if_free(std::string id);
  Task<> decline(model::NodeRequest request);
  Task<> fulfil(model::NodeRequest request);
  Task<> launch(const model::NodeRequest& request, std::string& node,
                std::unique_ptr<coordination::Lock>& lock);
  Task<bool> all_have_declined(const model::NodeRequest& request);
  Task<> delete_what_is_used(std::string id);
  Task<> delete_locked(model::Node node);
  Task<> ask_again_and_again();
  Task<> job();
  Task<> use(std::string request);
  Task<> write(const model::NodeRequest& request);
  Task<> write(const model::Node& node);

  bool finishing_ = false;
  bool has_something_ = false;  // in the store, as of the last look
  std::set<std::string> own_;   // requests with a job
  coordination::LockSweeper lock_sweeper_;
  std::string registration_;  // path of the own component
  async::Event wake_;
  async::TaskScope jobs_;  // of the requestor
  async::TaskScope scope_;
};

}  // namespace nodepool::simulation
