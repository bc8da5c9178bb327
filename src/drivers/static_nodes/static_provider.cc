#include "drivers/static_nodes/static_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "async/parking.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "driver/driver_metrics.h"
#include "drivers/static_nodes/slot_record.h"
#include "model/change_node.h"
#include "model/paths.h"
#include "model/unseen_nodes.h"
#include "nodescan/error.h"
#include "telemetry/log_errors.h"

namespace nodepool::drivers::static_nodes {

namespace {

using coordination::Transaction;
using model::Node;
using model::NodeChange;
using model::NodeState;

// Concurrent registrations. Each reads the records that the others have created meanwhile, so the
// work grows with the square of their number.
constexpr std::size_t kConcurrentRegistrations = 32;

constexpr async::Duration kNoPause{};

bool is_free(const Node& node) {
  return node.state == NodeState::ready && !node.allocated_to;
}

// Whether another process was changing the node, so that it is worth another attempt.
bool is_contended(NodeChange change) {
  return change == NodeChange::locked || change == NodeChange::outdated;
}

// Whether a recorded key was replaced on the host. One that could not be read was not.
bool has_replaced_key(const Node& node, const HostFacts& facts) {
  return std::ranges::any_of(facts.host_keys, [&node](const std::string& key) {
    const std::string type = key.substr(0, key.find(' ') + 1);
    return std::ranges::any_of(node.host_keys, [&key, &type](const std::string& recorded) {
      return recorded.starts_with(type) && recorded != key;
    });
  });
}

}  // namespace

StaticProvider::StaticProvider(std::shared_ptr<const StaticProviderConfig> config,
                               driver::ProviderContext context,
                               std::unique_ptr<nodescan::Scanner> scanner)
    : config_(std::move(config)),
      offer_(std::make_shared<const driver::Offer>(config_->offer())),
      context_(std::move(context)),
      log_(context_.log.child("driver.static.StaticNodeProvider." + config_->name())),
      checker_(context_.runtime, std::move(scanner)),
      reports_(context_.runtime, context_.store, log_),
      registrations_(kConcurrentRegistrations),
      scope_(context_.runtime, telemetry::log_errors(log_)) {}

Task<> StaticProvider::start() {
  for (const auto& [key, host] : config_->hosts()) {
    states_.try_emplace(key, new_state(host));
  }
  for (const std::string& id : context_.nodes.of_provider(config_->name())) {
    const Node& node = *context_.nodes.find(id);
    if (HostState* const state = state_of(&node)) {
      state->nodes.add(node);
    } else {
      retire_unconfigured(node, {});
    }
  }
  for (const std::string& id : context_.nodes.unreadable()) {
    const Node* node = context_.nodes.last_known(id);
    if (node != nullptr && node->provider == config_->name() && find_host(*node) != nullptr) {
      keep_slot(host_key_of(*node), id);
    }
  }
  subscription_ =
      context_.nodes.observe([this](const model::NodeTable::Change& change) { on_node(change); });
  reports_.start();
  report_unhealthy_hosts();
  for (const auto& [key, state] : states_) reevaluate(key);
  co_return;
}

void StaticProvider::quiesce() {
  is_quiesced_ = true;
  subscription_.reset();
  scope_.cancel();
  for (const auto& [key, state] : states_) state.check->cancel();
}

void StaticProvider::take_over(driver::Provider& predecessor) {
  auto* const other = dynamic_cast<StaticProvider*>(&predecessor);
  if (other != nullptr) other->has_successor_ = true;
}

Task<> StaticProvider::stop() {
  quiesce();
  co_await scope_.join();
  for (const auto& [key, state] : states_) co_await state.check->stop();
  co_await reports_.stop();
  unhealthy_.clear();
  report_unhealthy_hosts();
}

// --- Provider interface

const Host* StaticProvider::find_host(const Node& node) const {
  const auto found = config_->hosts().find(host_key_of(node));
  return found == config_->hosts().end() ? nullptr : &found->second;
}

Task<bool> StaticProvider::is_usable(std::string node_id) {
  const Node* node = context_.nodes.find(node_id);
  const Host* host = node == nullptr ? nullptr : find_host(*node);
  if (host == nullptr) co_return false;
  if (!host->host_key_checking) co_return true;
  const std::string failure = co_await checker_.connect(*host);
  if (failure.empty()) co_return true;
  if (!is_quiesced_ && *context_.is_serving) connection_failed(*host, node_id, failure);
  co_return false;
}

Task<std::optional<Node>> StaticProvider::reclaim(driver::NodeRecord& record) {
  const Node node = record.node();
  const Host* configured = find_host(node);
  if (is_quiesced_ || configured == nullptr || !node.slot) co_return std::nullopt;
  const Host host = *configured;
  if (*node.slot < 0 || *node.slot >= host.slots) co_return std::nullopt;
  HostState& state = states_.at(host.key());
  if (state.backoff.has_failed()) co_return std::nullopt;  // a check is scheduled
  if (!state.nodes.plan(node.id).is_missing(*node.slot)) co_return std::nullopt;
  std::string failure;
  std::shared_ptr<const HostFacts> facts;
  try {
    facts = co_await state.check->get(async::Duration::zero());
  } catch (const std::runtime_error& error) {
    failure = error.what();
  }
  if (!facts) {
    if (!is_quiesced_) log_.warning("Error registering {} again: {}", host.name, failure);
    co_return std::nullopt;
  }
  if (is_quiesced_) co_return std::nullopt;
  update_if_key_replaced(host, state, *facts);
  if (!state.nodes.plan(node.id).is_missing(*node.slot)) co_return std::nullopt;
  co_return make_node(host, *node.slot, *facts, config_->name(), attributes(host),
                      context_.runtime.clock.wall_seconds());
}

// The host was reinstalled: its free nodes have a key that fails their jobs.
void StaticProvider::update_if_key_replaced(const Host& host, HostState& state,
                                            const HostFacts& facts) {
  const auto is_stale = [&facts](const Node* node) {
    return is_free(*node) && has_replaced_key(*node, facts);
  };
  if (std::ranges::any_of(state.nodes.all(), is_stale)) check_unless_scheduled(host.key(), state);
}

// --- slots

// Many slots of a host may be reclaimed at the same time. Its SSH server drops connections, also
// those of jobs, when too many are open that have not logged in.
StaticProvider::HostState StaticProvider::new_state(const Host& host) {
  auto check = std::make_unique<async::SharedResult<HostFacts>>(
      context_.runtime, "static host check", [this, host] { return checker_.check(host); });
  return {.nodes = HostNodes(context_.nodes, host.slots), .check = std::move(check)};
}

// The state of the node's host; nullptr if that is not configured.
StaticProvider::HostState* StaticProvider::state_of(const Node* node) {
  if (node == nullptr || node->provider != config_->name()) return nullptr;
  const auto found = states_.find(host_key_of(*node));
  return found == states_.end() ? nullptr : &found->second;
}

// A new node on a host that is not configured comes from a launcher with another configuration. It
// is retired after a pause, so that both configurations can be updated.
void StaticProvider::on_node(const model::NodeTable::Change& change) {
  const auto& [id, before, after] = change;
  HostState* const state_before = state_of(before);
  HostState* const state_after = state_of(after);
  if (state_before != nullptr) {
    state_before->nodes.remove(*before);
    if (context_.nodes.is_unreadable(id)) keep_slot(host_key_of(*before), id);
  }
  if (state_after != nullptr) {
    state_after->nodes.add(*after);
  } else if (after != nullptr && after->provider == config_->name()) {
    const bool is_new = before == nullptr || before->state == NodeState::init;
    retire_unconfigured(*after, is_new ? kLongestPause : kNoPause);
  }
  if (state_before != nullptr) reevaluate_after(*before, *state_before);
  if (state_after != nullptr) reevaluate_after(*after, *state_after);
}

// A host may have thousands of nodes, so only what the change concerns is examined.
void StaticProvider::reevaluate_after(const Node& changed, const HostState& state) {
  const Host& host = *find_host(changed);
  const bool needs_update = is_free(changed) && is_outdated(changed, host, attributes(host));
  if (state.busy || needs_update || state.nodes.affects_plan(changed)) reevaluate(host.key());
}

// The node may be in use.
void StaticProvider::keep_slot(const HostKey& key, const std::string& id) {
  log_.about({}, {}, id)
      .warning(
          "Static node {} (user {}, port {}) keeps its slot: its record is invalid or unreadable",
          key.name, key.username, key.port);
  states_.at(key).nodes.keep_unreadable(id);
  scope_.spawn("unreadable node " + id, reevaluate_once_known(key, id));
}

// The removal of an unreadable record is no change of a node: nothing reports it.
Task<> StaticProvider::reevaluate_once_known(HostKey key, std::string id) {
  while (context_.nodes.is_unreadable(id)) {
    co_await context_.runtime.clock.sleep_for(kLongestPause);
  }
  states_.at(key).nodes.forget_unreadable(id);
  reevaluate(key);
}

void StaticProvider::retire_unconfigured(const Node& node, async::Duration pause) {
  if (*context_.is_serving && is_free(node))
    scope_.spawn("deregister node " + node.id, retire(node.id, pause));
}

void StaticProvider::reevaluate(const HostKey& key) {
  if (!*context_.is_serving) return;
  HostState& state = states_.at(key);
  if (state.busy) {
    state.changed = true;
    return;
  }
  if (!state.unchecked) {
    if (state.doubts.has_failed()) return;  // a check is scheduled
    const Host& host = config_->hosts().at(key);
    const SlotPlan now = state.nodes.plan();
    const bool outdated = has_outdated(host, state, now);
    if (now.surplus.empty() && now.missing.empty() && !outdated) return;
    if (now.surplus.empty() && state.backoff.has_failed()) return;  // a check is scheduled
    state.unchecked = outdated;
  }
  state.busy = true;
  scope_.spawn("static host " + key.name, process(key));
}

Task<> StaticProvider::process(HostKey key) {
  HostState& state = states_.at(key);
  const Host& host = config_->hosts().at(key);
  co_await context_.runtime.clock.sleep_until(state.restores.next());
  state.changed = false;
  std::string failure;
  std::string doubt;  // why it is unknown whether the host is healthy
  try {
    if (co_await restore_host(host, state)) check_succeeded(key, state);
    state.restores.done(context_.runtime.clock.now());
  } catch (const async::Cancelled&) {
    throw;
  } catch (const coordination::StoreError& error) {
    doubt = error.what();
  } catch (const nodescan::ScanError& error) {
    // A busy server recovers soon. A key that can never be read is a problem to be reported.
    const bool is_lasting = error.kind() == nodescan::ScanError::Kind::incomplete &&
                            (state.backoff.has_failed() || state.doubts.pause() >= kLongestPause);
    (error.is_inconclusive() && !is_lasting ? doubt : failure) = error.what();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (!failure.empty()) check_failed(host, state, failure);
  if (doubt.empty()) {
    state.doubts.reset();
  } else {
    check_undecided(host, state, doubt);
  }
  state.busy = false;
  if (state.changed) reevaluate(key);
}

// Operations on the store are no cancellation points, and a host may have thousands of slots: each
// loop is one, so that a reload or a stop ends it.
Task<bool> StaticProvider::restore_host(const Host& host, HostState& state) {
  const SlotPlan before = state.nodes.plan();
  // Another launcher of the provider may just have replaced a record, whose removal has not arrived
  // here yet. It will trigger another evaluation.
  std::vector<std::string> surplus = before.surplus;
  if (!surplus.empty() && !co_await all_exist(before.placed)) surplus.clear();
  for (const std::string& id : surplus) {
    co_await async::throw_if_cancelled();
    const NodeChange change = co_await deregister(id);
    if (!is_contended(change)) continue;
    scope_.spawn("static host " + host.name + " (retry)",
                 reevaluate_later(host.key(), kLongestPause));
  }
  if (!state.unchecked && before.missing.empty()) co_return false;

  const auto facts = co_await state.check->get(async::Duration::zero());
  const SlotPlan now = state.nodes.plan();
  for (const std::int64_t slot : now.missing) {
    co_await async::throw_if_cancelled();
    // Another launcher may have registered it meanwhile.
    if (state.nodes.is_vacant(slot)) co_await register_slot(host, slot, *facts);
  }
  if (!state.unchecked) co_return true;
  for (const std::string& id : now.placed) {
    co_await async::throw_if_cancelled();
    const auto moved = now.moved.find(id);
    co_await update(id, host, *facts,
                    moved == now.moved.end() ? std::nullopt : std::optional(moved->second));
  }
  state.unchecked = false;
  co_return true;
}

Task<bool> StaticProvider::all_exist(std::vector<std::string> ids) {
  for (const std::string& id : ids) {
    if (!co_await context_.store.exists(model::node_path(id))) co_return false;
  }
  co_return true;
}

void StaticProvider::check_succeeded(const HostKey& key, HostState& state) {
  state.backoff.reset();
  reports_.clear(key);
  if (unhealthy_.erase(key) > 0) report_unhealthy_hosts();
}

void StaticProvider::check_failed(const Host& host, HostState& state, const std::string& reason) {
  log_.warning("Couldn't sync static node {} (user {}, port {}): {}", host.name, host.username,
               host.connection_port, reason);
  // Free nodes of the host must not be handed out.
  for (const Node* node : state.nodes.all()) {
    if (is_free(*node)) scope_.spawn("deregister node " + node->id, retire(node->id));
  }
  state.unchecked = false;
  const async::Duration pause = state.backoff.failed();
  report(host, state, reason);
  scope_.spawn("static host " + host.name + " (retry)", reevaluate_later(host.key(), pause));
}

// Its other nodes stay in service until a check, which connects repeatedly, has failed as well.
void StaticProvider::connection_failed(const Host& host, const std::string& node_id,
                                       const std::string& reason) {
  log_.about({}, {}, node_id)
      .warning("Static node {} (user {}, port {}) cannot be handed out: {}", host.name,
               host.username, host.connection_port, reason);
  HostState& state = states_.at(host.key());
  const bool is_news = !unhealthy_.contains(host.key());
  report(host, state, reason);
  check_unless_scheduled(host.key(), state);
  if (is_news) note_refusal();
}

void StaticProvider::check_unless_scheduled(const HostKey& key, HostState& state) {
  if (state.backoff.has_failed() || state.doubts.has_failed()) return;
  state.unchecked = true;
  reevaluate(key);
}

// A request tries one free node after the other, each for up to its host's timeout. Behind a broken
// switch, it would find the hosts that still work only after all others.
void StaticProvider::note_refusal() {
  const auto now = context_.runtime.clock.now();
  if (now - first_refusal_ > kRefusalPeriod) {
    first_refusal_ = now;
    refusals_ = 0;
  }
  if (++refusals_ != kRefusalsOfOutage) return;
  log_.warning("{} static hosts did not accept connections, checking all hosts", refusals_);
  for (auto& [key, state] : states_) check_unless_scheduled(key, state);
}

// A store that refuses writes may do so for days: only the first attempt is a warning. The reasons
// differ, because they name paths of the attempt.
void StaticProvider::check_undecided(const Host& host, HostState& state,
                                     const std::string& reason) {
  const std::string text =
      fmt::format("Error updating static node {} (user {}, port {}), retrying: {}", host.name,
                  host.username, host.connection_port, reason);
  if (state.doubts.has_failed()) {
    log_.debug("{}", text);
  } else {
    log_.warning("{}", text);
  }
  state.unchecked = false;
  scope_.spawn("static host " + host.name + " (retry)",
               reevaluate_later(host.key(), state.doubts.failed()));
}

void StaticProvider::report(const Host& host, HostState& state, const std::string& reason) {
  if (unhealthy_.insert(host.key()).second) {
    state.failing_since = context_.runtime.clock.wall_seconds();
    report_unhealthy_hosts();
  }
  model::HostReport report;
  report.provider = config_->name();
  report.pool = host.pool;
  report.host = host.name;
  report.username = host.username;
  report.port = host.connection_port;
  report.labels = host.labels;
  report.problem = reason;
  report.since = state.failing_since;
  const async::Duration pause = state.backoff.has_failed() ? state.backoff.pause() : kLongestPause;
  report.next_check = std::chrono::duration<double>(pause).count();
  reports_.report(host.key(), std::move(report));
}

void StaticProvider::report_unhealthy_hosts() const {
  if (has_successor_) return;
  context_.metrics.gauge(telemetry::series<driver::kHostsUnhealthy>(config_->name()),
                         static_cast<double>(unhealthy_.size()));
}

Task<> StaticProvider::reevaluate_later(HostKey key, async::Duration pause) {
  // Without the store, the results of a check cannot be recorded.
  do {
    co_await context_.runtime.clock.sleep_for(pause);
  } while (!context_.nodes.ready());
  HostState& state = states_.at(key);
  state.unchecked = true;
  reevaluate(key);
}

// --- records

const model::Json& StaticProvider::attributes(const Host& host) const {
  return config_->pools().at(host.pool).node_attributes;
}

// Launchers that register the same slot concurrently see each other's records: the first one stays.
// Until then the record is `init`, so the node is not handed out.
Task<> StaticProvider::register_slot(const Host& host, std::int64_t slot, const HostFacts& facts) {
  const auto turn = co_await registrations_.take();
  Node node = make_node(host, slot, facts, config_->name(), attributes(host),
                        context_.runtime.clock.wall_seconds());
  node.state = NodeState::init;
  Transaction creation;
  creation.create(model::node_path(""), to_record(node),
                  coordination::CreateMode::persistent_sequential);
  const auto results =
      co_await coordination::commit_with_parents(context_.store, std::move(creation));
  node.id = coordination::base_name(results.front().path);
  context_.nodes.written(node, results.front().stat);
  co_await model::read_unseen_nodes(context_.runtime, context_.store, context_.nodes, node.id);
  node.stat = results.front().stat;
  if (states_.at(host.key()).nodes.is_later(node)) co_return co_await withdraw(node);
  co_await put_into_service(node);
  log_.about({}, {}, node.id).info("Registered static node {} slot {}", host.name, slot);
}

// Another process may have created the lock's root already. If the node is locked or its record has
// changed, the launcher's cleanup handles it.
Task<> StaticProvider::withdraw(Node node) {
  const std::string path = model::node_path(node.id);
  for (const bool with_lock : {false, true}) {
    Transaction transaction;
    if (with_lock) transaction.remove(model::node_lock_path(node.id));
    transaction.remove(path, node.stat.version);
    try {
      co_await context_.store.commit(std::move(transaction));
      context_.nodes.removed(node.id);
      co_return;
    } catch (const coordination::StoreError& error) {
      if (!error.is_rejection()) throw;
      if (error.kind() != coordination::StoreError::Kind::not_empty) co_return;
    }
  }
}

// Creating the lock's root in the same transaction proves that the node is not locked.
Task<> StaticProvider::put_into_service(Node node) {
  node.state = NodeState::ready;
  Transaction transaction;
  transaction.create(model::node_lock_path(node.id), {});
  transaction.set(model::node_path(node.id), to_record(node), node.stat.version);
  try {
    const auto results = co_await context_.store.commit(std::move(transaction));
    context_.nodes.written(std::move(node), results.back().stat);
  } catch (const coordination::TransactionError& error) {
    log_.about({}, {}, node.id).debug("Node not ready yet, retrying: {}", error.what());
    scope_.spawn("static node " + node.id, put_into_service_once_unlocked(node.id));
  }
}

Task<> StaticProvider::put_into_service_once_unlocked(std::string id) {
  const auto make_ready = [](Node& node) {
    if (node.state != NodeState::init) return false;
    node.state = NodeState::ready;
    return true;
  };
  auto change = NodeChange::locked;
  while (is_contended(change)) {
    co_await context_.runtime.clock.sleep_for(kFirstPause);
    Task<NodeChange> changing =
        change_node(context_.runtime, context_.store, context_.nodes, id, make_ready);
    change = co_await std::move(changing);
  }
}

// Whether a free node differs from the configuration: it was in use when that changed.
bool StaticProvider::has_outdated(const Host& host, const HostState& state,
                                  const SlotPlan& plan) const {
  const model::Json& wanted = attributes(host);
  return std::ranges::any_of(state.nodes.all(), [&](const Node* node) {
    return is_free(*node) && (plan.moved.contains(node->id) || is_outdated(*node, host, wanted));
  });
}

// Updates a free node; a node in use is updated when it is free again. `slot`: its new slot, if
// any.
Task<> StaticProvider::update(std::string id, const Host& host, const HostFacts& facts,
                              std::optional<std::int64_t> slot) {
  const auto refresh = [&host, &attributes = attributes(host), &facts, slot](Node& node) {
    if (!is_free(node)) return false;
    const bool moves = slot && node.slot != slot;
    if (moves) node.slot = slot;
    return refresh_node(node, host, attributes, facts) || moves;
  };
  const Node* current = context_.nodes.find(id);
  if (current == nullptr) co_return;
  Node copy = *current;
  if (!refresh(copy)) co_return;  // avoids locking it
  Task<NodeChange> changing =
      change_node(context_.runtime, context_.store, context_.nodes, id, refresh);
  switch (co_await std::move(changing)) {
    case NodeChange::written:
      log_.about({}, {}, id).info("Updated static node {}", host.name);
      break;
    case NodeChange::locked:
    case NodeChange::outdated:
      log_.about({}, {}, id).info("Static node {} is locked, updating it later", host.name);
      scope_.spawn("static host " + host.name + " (retry)",
                   reevaluate_later(host.key(), kLongestPause));
      break;
    case NodeChange::unchanged:
    case NodeChange::gone:
      break;
  }
}

// Sets a free node to `deleting`; the worker for deleted nodes does the rest. Does not lock a node
// that is not free: another launcher may be about to withdraw it.
Task<NodeChange> StaticProvider::deregister(std::string id) {
  const Node* known = context_.nodes.find(id);
  if (known == nullptr || !is_free(*known)) co_return NodeChange::unchanged;
  const double now = context_.runtime.clock.wall_seconds();
  const auto retire = [now](Node& node) {
    if (!is_free(node)) return false;
    node.set_state(NodeState::deleting, now);
    return true;
  };
  Task<NodeChange> changing =
      change_node(context_.runtime, context_.store, context_.nodes, id, retire);
  const NodeChange change = co_await std::move(changing);
  if (change == NodeChange::written) log_.about({}, {}, id).info("Deregistering static node");
  co_return change;
}

// Whether the node's host is configured and healthy.
bool StaticProvider::is_wanted(const Node& node) const {
  const auto state = states_.find(host_key_of(node));
  return state != states_.end() && !state->second.backoff.has_failed();
}

// Each failed check of the host calls this again: one call per node is enough.
Task<> StaticProvider::retire(std::string id, async::Duration pause) {
  if (pause > kNoPause) co_await context_.runtime.clock.sleep_for(pause);
  if (!retiring_.insert(id).second) co_return;
  try {
    Task<> deregistering = deregister_if_free(id);
    co_await std::move(deregistering);
  } catch (...) {
    retiring_.erase(id);
    throw;
  }
  retiring_.erase(id);
}

// Deregisters a node, retrying while it is contended or the store is unreachable, unless it is in
// use or wanted again by then. The store may be full for hours: only the first of its failures is
// logged.
Task<> StaticProvider::deregister_if_free(std::string id) {
  bool is_failing = false;
  while (true) {
    NodeChange change = NodeChange::locked;
    std::string failure;
    try {
      change = co_await deregister(id);
    } catch (const coordination::StoreError& error) {
      failure = error.what();
    }
    if (failure.empty() && !is_contended(change)) co_return;
    if (!failure.empty() && !std::exchange(is_failing, true)) {
      log_.about({}, {}, id).warning("Error deregistering static node, retrying: {}", failure);
    }
    co_await context_.runtime.clock.sleep_for(kFirstPause);
    const Node* node = context_.nodes.find(id);
    if (node == nullptr || !is_free(*node) || is_wanted(*node)) co_return;
  }
}

}  // namespace nodepool::drivers::static_nodes
