#include "model/node_table.h"

#include <algorithm>
#include <utility>

#include "coordination/lock.h"
#include "model/paths.h"

namespace nodepool::model {

namespace {

const IdSet kNoNodes;

constexpr std::string_view kLockName = "/lock";

// Whether it was made by the store: any name is possible otherwise.
bool is_sequence_number(std::string_view id) {
  return !id.empty() && id.find_first_not_of("0123456789") == std::string_view::npos;
}

// "0000000001/lock/<contender>" -> the node's id and the contender's name.
std::pair<std::string_view, std::string_view> split_contender(std::string_view path) {
  const std::size_t slash = path.find('/');
  return {path.substr(0, slash), path.substr(slash + kLockName.size() + 1)};
}

}  // namespace

NodeTable::NodeTable(const async::Runtime& runtime, coordination::Store& store,
                     telemetry::Logger log)
    : RecordTable(runtime, store, kNodesRoot, std::move(log)) {}

const IdSet& NodeTable::free(std::string_view provider, std::string_view pool,
                             std::string_view label) const {
  const auto found = free_.find(std::tuple(provider, pool, label));
  return found == free_.end() ? kNoNodes : found->second;
}

const IdSet& NodeTable::free(std::string_view provider, std::string_view pool) const {
  const auto found = free_by_pool_.find(std::tuple(provider, pool));
  return found == free_by_pool_.end() ? kNoNodes : found->second;
}

const IdSet& NodeTable::allocated_to(std::string_view request_id) const {
  const auto found = by_request_.find(request_id);
  return found == by_request_.end() ? kNoNodes : found->second;
}

const IdSet& NodeTable::of_provider(std::string_view provider) const {
  const auto found = by_provider_.find(provider);
  return found == by_provider_.end() ? kNoNodes : found->second;
}

std::string NodeTable::newest_id() const {
  for (auto record = all().rbegin(); record != all().rend(); ++record) {
    if (is_sequence_number(record->first)) return record->first;
  }
  return {};
}

const IdSet& NodeTable::contenders(std::string_view id) const {
  const auto found = contenders_.find(id);
  return found == contenders_.end() ? kNoNodes : found->second;
}

bool NodeTable::is_free(const Node& node) const {
  return node.state == NodeState::ready && !node.allocated_to && !is_locked(node.id);
}

bool NodeTable::is_locked(std::string_view id) const {
  return contenders_.contains(id);
}

bool NodeTable::has_lock_root(std::string_view id) const {
  return cache().knows(std::string(id).append(kLockName));
}

coordination::TreeListener::Interest NodeTable::interest(std::string_view path) const {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return Interest::data;
  const std::string_view below = path.substr(slash);
  if (below == kLockName) return Interest::name;
  const bool is_contender =
      below.starts_with("/lock/") && !coordination::contender_sequence(below).empty();
  return is_contender ? Interest::leaf : Interest::none;
}

// Shares the fields that are equal in many nodes, unlike names and addresses.
void NodeTable::share(Node& node) {
  for (SharedText* text :
       {&node.cloud, &node.provider, &node.pool, &node.az, &node.region, &node.host_id,
        &node.image_id, &node.launcher, &node.hold_job, &node.username, &node.connection_type,
        &node.shell_type, &node.python_path, &node.tenant_name, &node.requestor}) {
    texts_.share(*text);
  }
}

void NodeTable::on_changed(std::string_view path, const coordination::Entry& entry) {
  const auto slashes = std::ranges::count(path, '/');
  if (slashes == 0) {
    if (entry.data.empty()) {
      empty_records_.emplace(path);
    } else {
      empty_records_.erase(std::string(path));
    }
    return record_changed(path, entry);
  }
  if (slashes == 1) return;  // the lock root
  const auto [id, contender] = split_contender(path);
  contenders_changed(id, [contender](IdSet& names) { names.emplace(contender); });
}

void NodeTable::on_removed(std::string_view path) {
  const auto slashes = std::ranges::count(path, '/');
  if (slashes == 0) {
    empty_records_.erase(std::string(path));
    record_removed(path);
    if (all().empty()) seen_before_.clear();  // with a new root, ids start again
    return;
  }
  if (slashes == 1) return;
  const auto [id, contender] = split_contender(path);
  contenders_changed(id, [contender](IdSet& line) { line.erase(std::string(contender)); });
}

// A node whose contenders for the lock are unknown is of no use.
bool NodeTable::on_unreadable(std::string_view path, const std::string& reason) {
  return RecordTable::on_unreadable(path.substr(0, path.find('/')), reason);
}

// Until the table is complete, it has no own writes, which may be ahead of events. So it has all
// nodes up to the newest one.
void NodeTable::on_ready() {
  if (!std::exchange(has_been_ready_, true)) seen_all_before(newest_id());
  RecordTable::on_ready();
}

// After a reconnect, the store may be another one.
void NodeTable::on_lost() {
  seen_before_.clear();
  RecordTable::on_lost();
}

// Whether a node is free depends on its lock.
void NodeTable::contenders_changed(std::string_view id, const std::function<void(IdSet&)>& change) {
  const Node* node = find(id);
  if (node != nullptr) unindex(*node);
  const auto contenders = contenders_.try_emplace(std::string(id)).first;
  change(contenders->second);
  if (contenders->second.empty()) contenders_.erase(contenders);
  if (node != nullptr) index(*node);
  lock_changes_.notify(std::string(id));
}

Node NodeTable::parse(std::string id, const coordination::Entry& entry) const {
  return parse_node(std::move(id), entry);
}

std::optional<Node> NodeTable::parse_partly(const std::string& id,
                                            const coordination::Entry& entry) const {
  try {
    return parse_node_in_any_state(id, entry);
  } catch (const RecordError&) {
    return std::nullopt;
  }
}

template <typename Change>
void NodeTable::for_each_index(const Node& node, Change change) {
  if (node.provider) change(by_provider_, std::string_view(*node.provider));
  if (node.allocated_to) {
    change(by_request_, std::string_view(*node.allocated_to));
  } else if (is_free(node) && node.provider && node.pool) {
    change(free_by_pool_,
           std::tuple<std::string_view, std::string_view>(*node.provider, *node.pool));
    for (const std::string& label : node.type) {
      change(free_, std::tuple<std::string_view, std::string_view, std::string_view>(
                        *node.provider, *node.pool, label));
    }
  }
}

// Hot path: called for every change of a record or its lock.
void NodeTable::index(const Node& node) {
  if (node.state == NodeState::init) initial_.insert(node.id);
  for_each_index(node, [&node]<typename Map>(Map& map, const auto& key) {
    auto found = map.find(key);
    if (found == map.end()) found = map.emplace(typename Map::key_type(key), IdSet()).first;
    found->second.insert(node.id);
  });
}

void NodeTable::unindex(const Node& node) {
  initial_.erase(node.id);
  for_each_index(node, [&node](auto& map, const auto& key) {
    const auto found = map.find(key);
    if (found == map.end()) return;
    found->second.erase(node.id);
    if (found->second.empty()) map.erase(found);
  });
}

}  // namespace nodepool::model
