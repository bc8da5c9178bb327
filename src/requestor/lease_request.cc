#include "requestor/lease_request.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <utility>

#include "async/finally.h"
#include "coordination/known_outcome.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "coordination/with_lock.h"
#include "model/change_node.h"
#include "model/paths.h"
#include "requestor/error.h"
#include "requestor/locked_nodes.h"

namespace nodepool::requestor {

namespace {

using coordination::CreateMode;
using coordination::Store;
using coordination::StoreError;
using coordination::Transaction;
using Kind = StoreError::Kind;
using model::LeaseRequest;
using model::NodeRequest;

constexpr double kDay = 86400;

std::string root_of_day(double seconds) {
  return fmt::format("{}/{:%Y%m%d}", kIdempotencyKeysRoot,
                     fmt::gmtime(static_cast<std::time_t>(seconds)));
}

// The keys of a day are spread over parents, because a list of children has to fit into one
// response of the store.
std::string key_path(double seconds, const std::string& key) {
  return fmt::format("{}/{}/{}", root_of_day(seconds), key.substr(0, 2), key);
}

Task<std::optional<NodeRequest>> read_request(Store& store, std::string id) {
  const std::optional<coordination::Entry> entry =
      co_await coordination::find(store, model::request_path(id));
  if (!entry || entry->data.empty()) co_return std::nullopt;
  co_return model::parse_node_request(std::move(id), *entry);
}

// The outcome of an attempt to create a lease request.
struct Creation {
  enum class Kind { created, key_exists, parents_missing, unknown };
  Kind kind;
  std::string id = {};  // of the request, if it was created
};

Task<Creation> try_to_create(Store& store, const Transaction& transaction) {
  try {
    const std::vector<coordination::OperationResult> results = co_await store.commit(transaction);
    co_return Creation{Creation::Kind::created,
                       std::string(coordination::base_name(results.back().path))};
  } catch (const StoreError& error) {
    if (error.kind() == Kind::node_exists) co_return Creation{Creation::Kind::key_exists};
    if (error.kind() == Kind::no_node) co_return Creation{Creation::Kind::parents_missing};
    if (error.kind() == Kind::unknown_outcome) co_return Creation{Creation::Kind::unknown};
    throw;
  }
}

// The record of a created request as it is now; `request` if it is gone or cannot be read.
Task<NodeRequest> read_created(Store& store, NodeRequest request) {
  try {
    std::optional<NodeRequest> created = co_await read_request(store, request.id);
    if (created) co_return std::move(*created);
  } catch (const StoreError& error) {
    if (error.kind() == Kind::closed) throw;
  }
  co_return std::move(request);
}

// Returns nothing if the record of the key exists. After an unknown outcome it may be this call's
// own: then the request is found by its event id.
Task<std::optional<NodeRequest>> create(Store& store, Priority priority, NodeRequest request,
                                        std::string key_record) {
  Transaction transaction;
  if (!key_record.empty()) transaction.create(key_record, {});
  transaction.create(request_prefix(priority), model::to_record(request),
                     CreateMode::persistent_sequential);
  bool may_be_created = false;
  while (true) {
    const Creation creation = co_await try_to_create(store, transaction);
    if (creation.kind == Creation::Kind::created) {
      request.id = creation.id;
      co_return co_await read_created(store, std::move(request));
    }
    if (creation.kind == Creation::Kind::parents_missing) {
      co_await coordination::ensure_path(store, std::string(model::kRequestsRoot));
      const std::string parent(coordination::parent_path(key_record));
      if (!key_record.empty()) co_await coordination::ensure_path(store, parent);
      continue;
    }
    may_be_created = may_be_created || creation.kind == Creation::Kind::unknown;
    std::optional<NodeRequest> found;
    if (may_be_created) {
      Task<std::optional<NodeRequest>> finding = find_by_event(store, priority, *request.event_id);
      found = co_await coordination::continue_change(std::move(finding));
    }
    if (found || creation.kind == Creation::Kind::key_exists) co_return found;
  }
}

// Gives back the nodes of the request, which the launchers free: `requested` if a node has been
// removed or taken meanwhile, so that it is served again.
Task<> give_back(async::Runtime runtime, Store& store, NodeRequest request,
                 model::RequestState state) {
  request.set_state(state, runtime.clock.wall_seconds());
  request.nodes.clear();
  try {
    co_await store.set(model::request_path(request.id), model::to_record(request),
                       request.stat.version);
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;  // otherwise it has been withdrawn
  }
}

// Fails a request that no lease can answer, as if the pool of its nodes had declined it.
Task<> fail_request(async::Runtime runtime, Store& store, NodeRequest request) {
  const std::optional<model::Node> node = co_await model::read_node(store, request.nodes.front());
  const std::string pool = node ? node->launcher.value_or("") : "";
  request.declined_by.push_back(pool);
  request.decline_reasons[pool] = "the request has too many nodes for one lease";
  co_await give_back(runtime, store, std::move(request), model::RequestState::failed);
}

Task<std::optional<LeasedNodes>> serve_locked(async::Runtime runtime, Store& store,
                                              coordination::Lock& lock, std::string id) {
  if (!co_await lock.try_acquire()) co_return std::nullopt;
  std::optional<NodeRequest> request = co_await read_request(store, std::move(id));
  if (!request || request->state != model::RequestState::fulfilled) co_return std::nullopt;
  const std::optional<LeaseRequest> lease_request = lease_request_of(*request);
  if (!lease_request) co_return std::nullopt;
  const std::chrono::duration<double> duration(lease_request->lease);
  LeaseTerms terms{.duration = std::chrono::duration_cast<async::Duration>(duration),
                   .holder = lease_request->holder,
                   .owner = lease_request->owner,
                   .key = lease_request->key};
  bool is_too_large = false;
  try {
    co_return co_await lease_nodes(runtime, store, *request, std::move(terms));
  } catch (const RequestError&) {
    // A node is not available.
  } catch (const model::RecordError&) {
    // The same.
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;
    is_too_large = error.kind() == Kind::too_large;
  }
  if (is_too_large) {
    co_await fail_request(runtime, store, *std::move(request));
  } else {
    request->declined_by.clear();
    co_await give_back(runtime, store, *std::move(request), model::RequestState::requested);
  }
  co_return std::nullopt;
}

}  // namespace

Task<std::optional<NodeRequest>> create_lease_request(async::Runtime runtime, Store& store,
                                                      NodeRequestSpec request_spec,
                                                      LeaseRequest lease_request) {
  const Priority priority = request_spec.priority;
  NodeRequest request = request_for(runtime, std::move(request_spec));
  request.requestor_data = lease_request_data(lease_request);
  std::string key_record;
  if (!lease_request.key.empty()) {
    const double now = runtime.clock.wall_seconds();
    if (co_await store.exists(key_path(now - kDay, lease_request.key))) co_return std::nullopt;
    key_record = key_path(now, lease_request.key);
  }
  co_return co_await create(store, priority, std::move(request), std::move(key_record));
}

Task<std::optional<LeasedNodes>> serve_lease_request(async::Runtime runtime, Store& store,
                                                     std::string id) {
  coordination::Lock lock(store, runtime.random, model::request_lock_path(id));
  Task<std::optional<LeasedNodes>> serving = serve_locked(runtime, store, lock, std::move(id));
  co_return co_await coordination::with_lock(lock, std::move(serving));
}

Task<RequestEnd> end_lease_request(Store& store, std::string id, std::int32_t version) {
  try {
    co_await store.remove(model::request_path(id), version);
  } catch (const StoreError& error) {
    if (error.kind() == Kind::no_node) co_return RequestEnd::gone;
    if (error.kind() == Kind::bad_version) co_return RequestEnd::changed;
    throw;
  }
  co_return RequestEnd::removed;
}

Task<> remove_old_keys(async::Runtime runtime, Store& store) {
  const std::string yesterday = root_of_day(runtime.clock.wall_seconds() - kDay);
  const std::vector<std::string> days =
      co_await coordination::find_children(store, std::string(kIdempotencyKeysRoot));
  for (const std::string& day : days) {
    std::string path = coordination::join_path(kIdempotencyKeysRoot, day);
    if (path < yesterday) co_await coordination::remove_tree(store, std::move(path));
  }
}

}  // namespace nodepool::requestor
