#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"
#include "model/node_request.h"

// Asking for nodes. A requestor asks, awaits the answer, and accepts the nodes: with a lease
// (requestor/lease.h), or for as long as its session lasts (requestor/held_nodes.h).
namespace nodepool::requestor {

using async::Task;

struct Wish {
  std::vector<std::string> labels;  // one for each node, in order
  std::string requestor;            // who asks, for people: "nodepool:ada@build1"
};

// Puts the wish before the launchers; returns the request's id. The request vanishes with this
// session, so nobody works for a requestor that has died. Throws StoreError.
Task<std::string> ask(async::Runtime runtime, coordination::Store& store, Wish wish);

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
// Throws StoreError.
Task<> withdraw(coordination::Store& store, std::string id);

}  // namespace nodepool::requestor
