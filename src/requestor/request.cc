#include "requestor/request.h"

#include <optional>
#include <ranges>
#include <utility>

#include "async/event.h"
#include "async/finally.h"
#include "coordination/lock_sweeper.h"
#include "coordination/outage.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "requestor/error.h"

namespace nodepool::requestor {

namespace {

using coordination::CreateMode;
using coordination::Store;
using coordination::StoreError;
using Kind = StoreError::Kind;

std::string id_prefix(Priority priority) {
  return std::to_string(static_cast<int>(priority)) + "-";
}

// The record of the request; nothing if it does not exist.
Task<std::optional<model::NodeRequest>> read(Store& store, std::string id) {
  const std::optional<coordination::Entry> entry =
      co_await coordination::find(store, model::request_path(id));
  if (!entry) co_return std::nullopt;
  co_return model::parse_node_request(std::move(id), *entry);
}

bool is_final(model::RequestState state) {
  return state == model::RequestState::fulfilled || state == model::RequestState::failed;
}

// Like find_by_event(), but retries while the store is unreachable: an unknown request would be
// served.
Task<std::optional<model::NodeRequest>> find_surely(async::Runtime runtime, Store& store,
                                                    Priority priority, std::string event_id) {
  while (true) {
    try {
      co_return co_await find_by_event(store, priority, event_id);
    } catch (const StoreError& error) {
      if (!coordination::is_outage(error)) throw;
    }
    co_await coordination::wait_for_store(runtime, store);
  }
}

// Waits until the request is fulfilled or has failed, and stores its last version in `request`.
// Returns false if `deadline` comes first.
Task<bool> follow(const async::Runtime& runtime, Store& store, const std::string& id,
                  async::Clock::TimePoint deadline, const Progress& progress,
                  std::optional<model::NodeRequest>& request) {
  const std::int64_t session = store.session_id();
  async::Event changed;
  const coordination::Subscription watching = store.watch(
      model::request_path(id), [&changed](const coordination::WatchEvent&) { changed.set(); });
  while (true) {
    try {
      const std::optional<std::int32_t> seen =
          request ? std::optional(request->stat.version) : std::nullopt;
      request = co_await read(store, id);
      if (!request && store.session_id() != session) {
        throw RequestLost("request " + id + " has ended with its session");
      }
      if (!request) throw RequestError("request " + id + " was removed by another client");
      if (request->stat.version != seen && progress) progress(*request);
    } catch (const StoreError& error) {
      if (!coordination::is_outage(error)) throw;  // a resync follows when the store is back
    }
    if (request && is_final(request->state)) co_return true;
    if (!co_await changed.wait_until(runtime.clock, deadline)) co_return false;
  }
}

// Creates a request; retries until `deadline` while the store is unreachable.
Task<std::string> create_by(async::Clock::TimePoint deadline, async::Runtime runtime, Store& store,
                            NodeRequestSpec request_spec) {
  while (true) {
    try {
      co_return co_await create_request(runtime, store, request_spec);
    } catch (const StoreError& error) {
      if (!coordination::is_outage(error) || runtime.clock.now() >= deadline) throw;
    }
    co_await coordination::wait_for_store(runtime, store);
  }
}

}  // namespace

model::NodeRequest request_for(const async::Runtime& runtime, NodeRequestSpec request_spec) {
  model::NodeRequest request;
  request.set_state(model::RequestState::requested, runtime.clock.wall_seconds());
  request.node_types = std::move(request_spec.labels);
  request.requestor = std::move(request_spec.requestor);
  request.relative_priority = request_spec.relative_priority;
  request.tenant_name = std::move(request_spec.tenant);
  request.requestor_data = std::move(request_spec.data);
  request.created_time = request.state_time;
  request.event_id = runtime.random.uuid_hex();
  return request;
}

std::string request_prefix(Priority priority) {
  return model::request_path(id_prefix(priority));
}

Task<std::optional<model::NodeRequest>> find_by_event(Store& store, Priority priority,
                                                      std::string event_id) {
  const std::string prefix = id_prefix(priority);
  const std::vector<std::string> ids = co_await store.children(std::string(model::kRequestsRoot));
  // Sorted by sequence number: the request is among the last.
  for (const std::string& id : std::views::reverse(ids)) {
    if (!id.starts_with(prefix)) continue;
    try {
      std::optional<model::NodeRequest> request = co_await read(store, id);
      if (request && request->event_id == event_id) co_return request;
    } catch (const model::RecordError&) {
      // Another requestor's.
    }
  }
  co_return std::nullopt;
}

Task<std::string> create_request(async::Runtime runtime, Store& store,
                                 NodeRequestSpec request_spec) {
  const Priority priority = request_spec.priority;
  const model::NodeRequest request = request_for(runtime, std::move(request_spec));
  const std::string record = model::to_record(request);
  while (true) {
    bool root_missing = false;
    try {
      const std::string path =
          co_await store.create(request_prefix(priority), record, CreateMode::ephemeral_sequential);
      co_return std::string(coordination::base_name(path));
    } catch (const StoreError& error) {
      root_missing = error.kind() == Kind::no_node;
      if (!root_missing && error.kind() != Kind::unknown_outcome) throw;
    }
    if (root_missing) {
      co_await coordination::ensure_path(store, std::string(model::kRequestsRoot));
      continue;
    }
    const std::optional<model::NodeRequest> made =
        co_await find_surely(runtime, store, priority, *request.event_id);
    if (made) co_return made->id;
  }
}

Task<Result> await_result(async::Runtime runtime, Store& store, std::string id,
                          async::Clock::TimePoint deadline, Progress progress) {
  std::optional<model::NodeRequest> request;
  Task<bool> following = follow(runtime, store, id, deadline, progress, request);
  const auto give_up = [&store, &id] { return withdraw(store, id); };
  const bool answered = co_await async::undo_on_failure(std::move(following), give_up);
  const bool fulfilled = answered && request->state == model::RequestState::fulfilled;
  if (!fulfilled) co_await withdraw(store, id);
  if (!request) throw RequestError("request " + id + " could not be read in time");
  const Result::Kind kind = fulfilled  ? Result::Kind::fulfilled
                            : answered ? Result::Kind::failed
                                       : Result::Kind::timed_out;
  co_return Result{kind, std::move(*request)};
}

Task<Result> request_nodes(async::Runtime runtime, Store& store, NodeRequestSpec request_spec,
                           async::Clock::TimePoint deadline, Progress progress) {
  std::string id = co_await create_request(runtime, store, request_spec);
  while (true) {
    try {
      co_return co_await await_result(runtime, store, id, deadline, progress);
    } catch (const RequestLost&) {
      // Created again below: co_await is not allowed here.
    }
    id = co_await create_by(deadline, runtime, store, request_spec);
  }
}

Task<> withdraw(Store& store, std::string id) {
  while (true) {
    try {
      co_await store.remove(model::request_path(id), coordination::kAnyVersion);
      co_return;
    } catch (const StoreError& error) {
      if (error.kind() == Kind::no_node) co_return;
      if (error.kind() == Kind::unknown_outcome) continue;
      if (store.lock_sweeper() == nullptr) throw;
    }
    store.lock_sweeper()->take_over(std::string(model::kRequestsRoot), id);
    co_return;
  }
}

}  // namespace nodepool::requestor
