#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "async/deadline.h"
#include "cli/commands.h"
#include "cli/each.h"
#include "cli/own_provider.h"
#include "coordination/lock.h"
#include "coordination/tree.h"
#include "coordination/with_lock.h"
#include "lifecycle/reclaim.h"
#include "model/change_node.h"
#include "model/lease.h"
#include "model/paths.h"
#include "report/listings.h"
#include "report/rendering/table_text.h"
#include "requestor/lease.h"

namespace nodepool::cli {

namespace {

using coordination::Lock;
using coordination::Store;
using coordination::StoreError;
using coordination::Transaction;
using model::Node;
using model::NodeState;
using model::read_node;

constexpr auto kLockTimeout = std::chrono::seconds(5);

// The contenders for the node's lock, the holder first.
Task<std::vector<std::string>> contenders(Store& store, std::string id) {
  std::vector<std::string> names =
      co_await coordination::find_children(store, model::node_lock_path(id));
  co_return coordination::sorted_contenders(std::move(names));
}

// Prints that there is no such node; returns the exit status.
int not_found(Session& session, const std::string& id, bool strict) {
  session.context().out << "Node id " << id << " not found\n";
  return strict ? 1 : 0;
}

// Prints the table with this node.
Task<> print_node(Session& session, std::string id) {
  report::Table table = report::node_columns(report::Detail::brief);
  const std::optional<Node> node = co_await read_node(session.store(), id);
  if (node) {
    const bool is_locked = !(co_await contenders(session.store(), id)).empty();
    report::add_node(table, *node, is_locked, session.now(), report::Detail::brief);
  }
  session.context().out << report::table_text(table) << '\n';
}

// The error message when the lock was not acquired in time.
Task<std::string> describe_holder(Store& store, std::string id) {
  std::string text = "Timeout trying to acquire lock " + model::node_lock_path(id);
  const std::optional<Node> node = co_await read_node(store, id);
  const std::optional<model::Lease> lease = node ? lease_of(*node) : std::nullopt;
  if (lease) text += ": the node is leased, see `nodepool release " + lease->id + "`";
  co_return text;
}

// Acquires the lock. Returns false if the node does not exist. Throws std::runtime_error if another
// process keeps the lock.
Task<bool> acquire(Session& session, Lock& lock, std::string id) {
  async::Clock& clock = session.runtime().clock;
  bool timed_out = false;
  try {
    co_await lock.acquire(clock, clock.now() + kLockTimeout);
  } catch (const async::DeadlineExceeded&) {
    timed_out = true;
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
    co_return false;
  }
  if (timed_out) throw std::runtime_error(co_await describe_holder(session.store(), id));
  co_return true;
}

using Action = std::function<Task<>(Node node, Lock& lock)>;

Task<bool> act_on_node(Store& store, std::string id, Lock& lock, Action action) {
  std::optional<Node> node = co_await read_node(store, id);
  if (!node) co_return false;
  Task<> acting = action(std::move(*node), lock);
  co_await std::move(acting);
  co_return true;
}

// Performs `action` on the locked node. Returns false if the node does not exist.
Task<bool> with_locked_node(Session& session, std::string id, Action action) {
  Lock lock(session.store(), session.runtime().random, model::node_lock_path(id));
  if (!co_await acquire(session, lock, id)) co_return false;
  Task<bool> acting = act_on_node(session.store(), id, lock, std::move(action));
  co_return co_await coordination::with_lock(lock, std::move(acting));
}

// A change of a node's record.
struct NodeUpdate {
  NodeState state;
  std::string comment;  // empty: unchanged
};

// Writes the node's new state and unlocks it, in one transaction.
Task<> store_state(Session& session, NodeUpdate update, Node node, Lock& lock) {
  node.set_state(update.state, session.now());
  if (!update.comment.empty()) node.comment = update.comment;
  Transaction transaction;
  transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
  lock.release_in(transaction);
  co_await session.store().commit(std::move(transaction));
  lock.released();
}

// Returns false if there is no such node.
Task<bool> change_state(Session& session, std::string id, NodeUpdate update) {
  const Action action = [&session, update = std::move(update)](Node locked, Lock& lock) {
    return store_state(session, update, std::move(locked), lock);
  };
  return with_locked_node(session, std::move(id), action);
}

// Holds the node. A leased node is locked by its lease, so it is removed from the lease first.
// Returns false if there is no such node.
Task<bool> hold_node(Session& session, Node node, std::string reason) {
  const std::optional<model::Lease> lease = lease_of(node);
  if (lease && node.state == NodeState::in_use) {
    const bool kept = co_await requestor::keep_leased_node(session.runtime(), session.store(),
                                                           node.id, lease->id, reason);
    if (kept) co_return true;
  }
  Task<bool> changing =
      change_state(session, std::move(node.id), {NodeState::hold, std::move(reason)});
  co_return co_await std::move(changing);
}

Task<int> hold(Session& session, std::string id, HoldNodes command) {
  std::optional<Node> node = co_await read_node(session.store(), id);
  if (!node) co_return not_found(session, id, command.strict);
  if (!co_await hold_node(session, std::move(*node), std::move(command.reason))) {
    co_return not_found(session, id, command.strict);
  }
  co_await print_node(session, id);
  co_return 0;
}

Task<> reclaim(Session& session, driver::Provider& provider, Node node, Lock& lock) {
  const std::string id = node.id;
  bool is_lost = false;
  try {
    model::NodeTable* nodes = co_await session.nodes();
    const lifecycle::NodeWriter writer{session.runtime(), session.store(), *nodes};
    Task<std::optional<Node>> reclaiming =
        lifecycle::reclaim(writer, provider, std::move(node), lock);
    co_await std::move(reclaiming);
  } catch (const coordination::TransactionError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
    is_lost = true;
  }
  if (is_lost) {
    throw std::runtime_error("the lock of node " + id +
                             " was lost; the launcher takes over the node");
  }
}

const config::ProviderSection* find_provider(const config::Config& config,
                                             const model::SharedText& name) {
  for (const config::ProviderSection& section : config.providers) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

// `found` is set to whether the node exists.
Task<> delete_with(Session& session, driver::Provider& provider, std::string id, bool& found) {
  const Action action = [&session, &provider](Node node, Lock& lock) {
    return reclaim(session, provider, std::move(node), lock);
  };
  found = co_await with_locked_node(session, id, action);
}

// Deletes the node in this process. Returns false if it does not exist.
Task<bool> delete_now(Session& session, std::string id, const config::ProviderSection& section) {
  bool found = false;
  const std::function<Task<>(driver::Provider&)> erase = [&session, &id,
                                                          &found](driver::Provider& provider) {
    return delete_with(session, provider, id, found);
  };
  Task<> erasing = with_own_provider(session, section, erase);
  co_await std::move(erasing);
  co_return found;
}

Task<int> remove(Session& session, std::string id, DeleteNodes command) {
  const std::optional<Node> node = co_await read_node(session.store(), id);
  if (!node) co_return not_found(session, id, command.strict);
  bool found = false;
  if (command.now) {
    const config::ProviderSection* section = find_provider(session.config(), node->provider);
    if (section == nullptr) {
      session.context().out << "Provider " << node->provider.value_or("None") << " for node "
                            << node->id << " not defined on this launcher\n";
      co_return command.strict ? 1 : 0;
    }
    found = co_await delete_now(session, id, *section);
  } else {
    Task<bool> changing = change_state(session, id, {NodeState::deleting, {}});
    found = co_await std::move(changing);
  }
  if (!found) co_return not_found(session, id, command.strict);
  co_await print_node(session, id);
  co_return 0;
}

}  // namespace

Task<int> perform(Session& session, HoldNodes command) {
  const Act act = [&session, &command](std::string id) {
    return hold(session, std::move(id), command);
  };
  co_return co_await for_each(session.context(), command.ids, act);
}

Task<int> perform(Session& session, DeleteNodes command) {
  const Act act = [&session, &command](std::string id) {
    return remove(session, std::move(id), command);
  };
  co_return co_await for_each(session.context(), command.ids, act);
}

}  // namespace nodepool::cli
