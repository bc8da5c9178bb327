#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordination/store.h"
#include "history/entry.h"
#include "model/host_report.h"
#include "report/explanation/statement.h"
#include "report/table.h"
#include "requestor/lease.h"
#include "requestor/request.h"

namespace nodepool::installation {

using async::Task;

// An installation as its users see it: they request, use and return nodes, and inspect its records.
// It is reached through its store or through the request API of its launchers. All functions throw
// std::runtime_error if the installation refuses or cannot be reached, and Cancelled.
class Installation {
 public:
  // A request for nodes.
  struct Request {
    std::vector<std::string> labels;  // one for each node
    std::chrono::seconds timeout = std::chrono::minutes(10);
    std::string holder = {};  // for people
    // Whether the nodes are used by this process, until end_use(), instead of leased. If the
    // process dies, they are released by themselves.
    bool is_for_process = false;
    // For leases: the length; nothing: the installation's default.
    std::optional<std::chrono::seconds> lease = {};
    std::string key = {};  // for leases: the idempotency key; empty: none
    // For nodes of this process: called with the reason if they are lost during their use, because
    // the session with the store has expired, or their lease has ended.
    std::function<void(const std::string& reason)> on_lost = {};
  };

  // The state of a request.
  struct Progress {
    std::string id;
    model::RequestState state = model::RequestState::requested;
    std::vector<std::pair<std::string, std::string>> declined = {};  // pools, and their reasons
    std::size_t pools = 0;                                           // all; 0: unknown
    std::optional<std::size_t> position = {};                        // in the queue, from 1
    std::size_t queue = 0;                                           // its length; 0: unknown
    std::string shortage = {};  // report::shortage(); empty also if it is unknown
  };
  using Observer = std::function<void(const Progress&)>;

  // The result: `leased` has the nodes in the order of the labels; nothing if the request has
  // failed or timed out, as `progress` says. The lease of nodes for this process may be empty.
  struct Outcome {
    Progress progress;
    std::optional<requestor::LeasedNodes> leased = {};
  };

  struct Renewal {
    model::Lease lease;
    double before = 0;  // when it would have ended, in seconds since the epoch
  };

  // A request of the API that is not a lease yet.
  struct LeaseRequest {
    std::string id;
    std::string holder;  // for people
  };

  Installation() = default;
  virtual ~Installation() = default;
  Installation(const Installation&) = delete;
  Installation& operator=(const Installation&) = delete;

  // Ends what is under way, such as withdrawals, and tells the user about cancelled requests that
  // are withdrawn. Call it before the destructor.
  virtual Task<> close() = 0;

  // Requests nodes and waits for them until the request's timeout; calls `observer` with each
  // progress. A request that is not fulfilled by then, or whose wait is cancelled, is withdrawn.
  // Throws also if another client removes the request before its timeout.
  virtual Task<Outcome> request(Request request, Observer observer) = 0;

  // Stops following the records, which request() and explain() may have begun. No other call is in
  // progress; later ones read the records again. By default, does nothing.
  virtual Task<> stop_following() { co_return; }

  // Releases the nodes that this process uses, if there are any; with a reason, holds them for
  // inspection instead. Returns the ids of the nodes for which it was done: others are lost. If it
  // fails, the text of the exception says when it happens by itself.
  virtual Task<std::vector<std::string>> end_use(std::optional<std::string> hold_reason) = 0;

  // Renews the lease for the duration from now; nothing: for the installation's default.
  virtual Task<Renewal> renew(std::string lease, std::optional<std::chrono::seconds> duration) = 0;

  // Releases the lease with this id, or the leased node; with a reason, holds the nodes for
  // inspection instead. Returns their ids. Throws requestor::NoSuchLease.
  virtual Task<std::vector<std::string>> release(std::string id,
                                                 std::optional<std::string> hold_reason) = 0;

  // Ends the hold of the node with this id. Returns false if it is not held.
  virtual Task<bool> end_hold(std::string id) = 0;

  // All requests of the API that are not leases yet.
  virtual Task<std::vector<LeaseRequest>> lease_requests() = 0;

  // Withdraws the lease request with this id. Returns false if there is none: it has ended, and may
  // have become a lease.
  virtual Task<bool> withdraw(std::string id) = 0;

  // All leases. Nodes may have only id, provider and labels.
  virtual Task<std::vector<requestor::LeasedNodes>> leases() = 0;

  // The nodes of the lease with this id, or the node with it, with their connection data and the
  // end of their hold.
  virtual Task<std::vector<model::Node>> find_nodes(std::string id) = 0;

  // Listings of the records, with all columns.
  virtual Task<report::Table> nodes() = 0;
  virtual Task<report::Table> requests() = 0;
  virtual Task<report::Table> labels() = 0;

  // Reports about static hosts; empty also if they are unknown.
  virtual Task<std::vector<model::HostReport>> host_reports() = 0;

  // Explains a request, node, lease, label or host. `online`: also by what the clouds report.
  virtual Task<report::Explanation> explain(std::string subject, bool online) = 0;

  // The history of a request or node, which is not empty.
  virtual Task<std::vector<history::JournalEntry>> history(std::string id) = 0;

  // Calls `observer` after each change of leases and listings that have been read.
  virtual Task<std::vector<coordination::Subscription>> watch(std::function<void()> observer) = 0;
};

}  // namespace nodepool::installation
