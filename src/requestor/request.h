#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_request.h"

// Requests for nodes. A requestor creates a request, waits for the launchers, and accepts the
// nodes: with a lease (requestor/lease.h), or until its session ends (requestor/held_nodes.h).
namespace nodepool::requestor {

using async::Task;

// The priority, as of Zuul's pipelines; the prefix of a request's id.
enum class Priority { high = 100, normal = 200, low = 300 };

struct NodeRequestSpec {
  std::vector<std::string> labels;  // one for each node, in order
  std::string requestor;            // for people: "nodepool:ada@build1"
  Priority priority = Priority::normal;
  std::int64_t relative_priority = 0;      // lower is first within one priority
  std::optional<std::string> tenant = {};  // its resource limits apply
  model::Json data = {};                   // opaque data of the requestor
};

// The record of a new request.
model::NodeRequest request_for(const async::Runtime& runtime, NodeRequestSpec request_spec);

// "/nodepool/requests/200-": the store appends a sequence number.
std::string request_prefix(Priority priority);

// After a creation with an unknown outcome: the created request, if there is one. Reads the newest
// requests first; all of this priority if there is none. Throws StoreError.
Task<std::optional<model::NodeRequest>> find_by_event(coordination::Store& store, Priority priority,
                                                      std::string event_id);

// Creates a request that is removed with this session; returns its id. Throws StoreError: then
// there is no request; Cancelled: then there may be one, if the store is unreachable.
Task<std::string> create_request(async::Runtime runtime, coordination::Store& store,
                                 NodeRequestSpec request_spec);

struct Result {
  enum class Kind {
    fulfilled,  // the nodes are in the request: accept them
    failed,     // every pool has declined
    timed_out,
  };
  Kind kind;
  model::NodeRequest request;  // as last seen; no longer in the store unless it is fulfilled
};

// Called with the request first, and after each change.
using Progress = std::function<void(const model::NodeRequest&)>;

// Returns when the request is fulfilled or has failed, or at `deadline`. A request that is not
// fulfilled is withdrawn before this returns, also if it throws Cancelled. `id` was created by the
// present session: throws RequestLost if this ends. Throws RequestError if another process removed
// the request, and StoreError.
Task<Result> await_result(async::Runtime runtime, coordination::Store& store, std::string id,
                          async::Clock::TimePoint deadline, Progress progress);

// Creates a request and waits for its result like await_result(). If the request ends with the
// session, creates it again, with another id. Retries that until `deadline` while the store is
// unreachable. Throws as create_request() and await_result(), but not RequestLost.
Task<Result> request_nodes(async::Runtime runtime, coordination::Store& store,
                           NodeRequestSpec request_spec, async::Clock::TimePoint deadline,
                           Progress progress);

// Removes the request, if it exists. The launchers then free its nodes. Throws StoreError, unless
// the store has a LockSweeper: that retries until the store is reachable.
Task<> withdraw(coordination::Store& store, std::string id);

}  // namespace nodepool::requestor
