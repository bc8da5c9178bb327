#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "async/task_scope.h"
#include "driver/driver.h"
#include "drivers/metastatic/backing_nodes.h"
#include "drivers/metastatic/metastatic_config.h"
#include "requestor/locked_nodes.h"

namespace nodepool::drivers::metastatic {

// A request for a backing node: an ordinary node request, which ends with this process's session.
struct BackingRequest {
  enum class State { open, served, failed };

  std::string label;          // of the tenants
  std::string backing_label;  // of the backing node
  std::size_t slots = 1;
  double launched = 0;     // when it was requested, seconds since the epoch
  std::string first_node;  // id of the first tenant
  State state = State::open;
  std::string id = {};       // of the request; empty: not in the store yet
  std::string failure = {};  // reason for State::failed
  std::string node = {};     // id of the backing node, for State::served
  std::size_t waiting = 0;   // number of nodes that wait for it
  std::optional<async::Clock::TimePoint> unwanted_since = {};  // when the last one stopped waiting
};

// Keeps a place among the nodes that wait for a requested backing node; the destructor gives it up.
class BackingWait {
 public:
  BackingWait(std::shared_ptr<BackingRequest> request, async::Clock& clock);
  ~BackingWait();
  BackingWait(const BackingWait&) = delete;
  BackingWait& operator=(const BackingWait&) = delete;

  const BackingRequest& request() const { return *request_; }

 private:
  std::shared_ptr<BackingRequest> request_;
  async::Clock& clock_;
};

// Requests backing nodes and accepts them.
class BackingRequests {
 public:
  // `context` and `nodes` outlive it.
  BackingRequests(driver::ProviderContext context, std::string provider, BackingNodes& nodes,
                  telemetry::Logger log);

  // Waits for a slot of a backing node that has been requested, or requests one. `node_id`: the
  // node that needs the slot.
  std::unique_ptr<BackingWait> expect(const std::string& label, const BackingRules& rules,
                                      const std::string& node_id);

  // Withdraws requests that no node has waited for during the label's grace time. The delay keeps
  // the position in the queue for the next attempt after a timeout.
  void withdraw_unwanted(const MetastaticConfig& config);

  // Withdraws all requests.
  Task<> stop();

 private:
  struct PendingRequest {
    std::shared_ptr<BackingRequest> request;
    std::unique_ptr<async::TaskScope> scope;
  };

  Task<> serve(std::shared_ptr<BackingRequest> request);
  Task<bool> ask_once(std::shared_ptr<BackingRequest> request);
  Task<> accept(std::shared_ptr<BackingRequest> request, model::NodeRequest answer);
  Task<> take_until_known(std::shared_ptr<BackingRequest> request, model::NodeRequest answer);
  Task<> take(std::shared_ptr<BackingRequest> request, model::NodeRequest answer,
              requestor::LockedNodes& locked);
  Task<> withdraw(PendingRequest asking);
  std::unique_ptr<async::TaskScope> make_scope();

  driver::ProviderContext context_;
  std::string provider_;
  std::string owner_;
  BackingNodes& nodes_;
  telemetry::Logger log_;
  std::list<PendingRequest> open_;
  async::TaskScope withdrawals_;
};

}  // namespace nodepool::drivers::metastatic
