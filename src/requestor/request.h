#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_request.h"

// Asking for nodes. A requestor asks, awaits the answer, and accepts the nodes: with a lease
// (requestor/lease.h), or for as long as its session lasts (requestor/held_nodes.h).
namespace nodepool::requestor {

using async::Task;

// What is served first, as Zuul's pipelines have it; the beginning of a request's id.
enum class Priority { high = 100, normal = 200, low = 300 };

struct NodeRequestSpec {
  std::vector<std::string> labels;  // one for each node, in order
  std::string requestor;            // who asks, for people: "nodepool:ada@build1"
  Priority priority = Priority::normal;
  std::int64_t relative_priority = 0;      // lower is first within one priority
  std::optional<std::string> tenant = {};  // whose limits count
  model::Json data = {};                   // the requestor's own, which nobody else looks into
};

// The record of the wish, as of now.
model::NodeRequest request_for(const async::Runtime& runtime, NodeRequestSpec request_spec);

// "/nodepool/requests/200-": the store adds what makes it an id.
std::string request_prefix(Priority priority);

// After a creation without an answer: the request that it made, if it did. Throws StoreError.
Task<std::optional<model::NodeRequest>> find_by_event(coordination::Store& store, Priority priority,
                                                      std::string event_id);

// Puts the wish before the launchers; returns the request's id. The request vanishes with this
// session, so nobody works for a requestor that has died. Throws StoreError: there is no request
// then; Cancelled, while the store is out of reach and nobody knows whether there is one.
Task<std::string> ask(async::Runtime runtime, coordination::Store& store,
                      NodeRequestSpec request_spec);

struct Answer {
  enum class Kind {
    fulfilled,  // the nodes are in the request: accept them
    failed,     // every pool has declined
    timed_out,
  };
  Kind kind;
  model::NodeRequest request;  // as last seen; no longer in the store unless it is fulfilled
};

// Called with the request as it is first seen and whenever it has changed.
using Progress = std::function<void(const model::NodeRequest&)>;

// Returns when the launchers have answered, or at `deadline`. A request that is not fulfilled is
// withdrawn before this returns, also when it throws Cancelled. Throws RequestError if somebody
// else removed the request, and StoreError.
Task<Answer> await_answer(async::Runtime runtime, coordination::Store& store, std::string id,
                          async::Clock::TimePoint deadline, Progress progress);

// Removes the request, if it is still there. Nodes that were meant for it are free again soon.
// Throws StoreError; in a process whose store has a LockSweeper it does not: what the store does
// not do now is done as soon as it can be reached.
Task<> withdraw(coordination::Store& store, std::string id);

}  // namespace nodepool::requestor
