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

// A backing node that has been asked for: a request as any requestor makes it, which vanishes with
// this process's session.
struct BackingRequest {
  enum class State { open, served, failed };

  std::string label;          // of the nodes that are to be on it
  std::string backing_label;  // that is asked for
  std::size_t slots = 1;
  double launched = 0;     // when it was asked for, seconds since the epoch
  std::string first_node;  // the node that it was made for
  State state = State::open;
  std::string id = {};       // of the request; empty: it is not in the store yet
  std::string failure = {};  // why it failed
  std::string node = {};     // that it was served with
  std::size_t waiting = 0;   // nodes that count on it
  std::optional<async::Clock::TimePoint> unwanted_since = {};  // when the last one has left
};

// The right to a place on the backing node that is asked for; gives it up when it goes.
class Expectation {
 public:
  Expectation(std::shared_ptr<BackingRequest> request, async::Clock& clock);
  ~Expectation();
  Expectation(const Expectation&) = delete;
  Expectation& operator=(const Expectation&) = delete;

  const BackingRequest& request() const { return *request_; }

 private:
  std::shared_ptr<BackingRequest> request_;
  async::Clock& clock_;
};

// Asks the launchers for backing nodes, and takes them.
class BackingRequests {
 public:
  // `context` as ProviderContext says; `nodes` outlives it.
  BackingRequests(driver::ProviderContext context, std::string provider, BackingNodes& nodes,
                  telemetry::Logger log);

  // A place on a backing node that has been asked for, or is asked for now. `node_id`: for whom.
  std::unique_ptr<Expectation> expect(const std::string& label, const BackingRules& rules,
                                      const std::string& node_id);

  // Withdraws what nobody has been waiting for during the label's grace time: an attempt that has
  // taken too long is followed by another one, which is not to go to the end of the line.
  void withdraw_unwanted(const MetastaticConfig& config);

  // Withdraws all.
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
