#include "coordination/memory/tree.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "coordination/path.h"

namespace nodepool::coordination::memory {

using Kind = StoreError::Kind;

struct Tree::Node {
  std::string data;
  Stat stat;  // except for data_length and num_children
  // Does not decrease when children are removed, so sequential names are unique.
  std::int64_t children_created = 0;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> children;

  Stat full_stat() const {
    Stat full = stat;
    full.data_length = static_cast<std::int32_t>(data.size());
    full.num_children = static_cast<std::int32_t>(children.size());
    return full;
  }
};

// A running transaction. Undoes its changes unless it is finished.
class Tree::Writer {
 public:
  Writer(Tree& tree, std::int64_t session, std::int64_t now)
      : tree_(tree), session_(session), now_(now), zxid_(tree.last_zxid_ + 1) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    for (; !undo_.empty(); undo_.pop_back()) undo_.back()();
  }

  OperationResult apply(const Transaction::Operation& operation) {
    switch (operation.kind) {
      case Transaction::Kind::create:
        return create(operation);
      case Transaction::Kind::set:
        return set(operation);
      case Transaction::Kind::remove:
        return remove(operation.path, operation.version);
      case Transaction::Kind::check:
        return check(operation);
    }
    throw store_error(Kind::invalid, operation.path, "unknown operation");
  }

  OperationResult remove(const std::string& path, std::int32_t expected);

  std::vector<WatchEvent> finish() {
    undo_.clear();
    tree_.last_zxid_ = zxid_;
    return std::move(events_);
  }

 private:
  OperationResult create(const Transaction::Operation& operation);
  OperationResult set(const Transaction::Operation& operation);
  OperationResult check(const Transaction::Operation& operation);
  Node& find_at(const std::string& path, std::int32_t expected);

  Tree& tree_;
  const std::int64_t session_;
  const std::int64_t now_;
  const std::int64_t zxid_;
  std::vector<WatchEvent> events_;
  std::vector<std::move_only_function<void()>> undo_;
};

namespace {

bool is_sequential(CreateMode mode) {
  return mode == CreateMode::persistent_sequential || mode == CreateMode::ephemeral_sequential;
}

bool is_ephemeral(CreateMode mode) {
  return mode == CreateMode::ephemeral || mode == CreateMode::ephemeral_sequential;
}

std::string ten_digits(std::int64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(10 - std::min<std::size_t>(10, digits.size()), '0') + digits;
}

}  // namespace

OperationResult Tree::Writer::create(const Transaction::Operation& operation) {
  const bool sequential = is_sequential(operation.mode);
  // The digits may be the whole name: "/a/" is a valid path for a sequential node.
  require_valid_path(sequential ? operation.path + '0' : operation.path);
  require_valid_size(operation.path, operation.data);
  Node* const parent = tree_.find(parent_path(operation.path));
  if (parent == nullptr) throw store_error(Kind::no_node, operation.path, "no parent");
  if (parent->stat.ephemeral_owner != 0) throw store_error(Kind::no_children, operation.path);

  std::string path = operation.path;
  if (sequential) path += ten_digits(parent->children_created);
  const std::string name(base_name(path));
  if (path == "/" || parent->children.contains(name)) throw store_error(Kind::node_exists, path);
  const std::int64_t owner = is_ephemeral(operation.mode) ? session_ : 0;
  auto node = std::make_unique<Node>();
  node->data = operation.data;
  node->stat = {
      .czxid = zxid_, .mzxid = zxid_, .ctime = now_, .mtime = now_, .ephemeral_owner = owner};
  const Stat stat = node->full_stat();
  parent->children.emplace(name, std::move(node));
  ++parent->children_created;
  if (owner != 0) tree_.ephemerals_[owner].insert(path);

  undo_.emplace_back([this, parent, name, owner, path] {
    if (owner != 0) tree_.ephemerals_[owner].erase(path);
    --parent->children_created;
    parent->children.erase(name);
  });
  events_.emplace_back(WatchEvent::Kind::created, path);
  return {path, stat};
}

OperationResult Tree::Writer::set(const Transaction::Operation& operation) {
  require_valid_path(operation.path);
  require_valid_size(operation.path, operation.data);
  Node& node = find_at(operation.path, operation.version);
  undo_.emplace_back([&node, stat = node.stat, data = node.data]() mutable {
    node.stat = stat;
    node.data = std::move(data);
  });
  node.data = operation.data;
  node.stat.mzxid = zxid_;
  node.stat.mtime = now_;
  ++node.stat.version;
  events_.emplace_back(WatchEvent::Kind::changed, operation.path);
  return {operation.path, node.full_stat()};
}

OperationResult Tree::Writer::remove(const std::string& path, std::int32_t expected) {
  require_valid_path(path);
  if (path == "/") throw store_error(Kind::invalid, path, "the root cannot be removed");
  Node& node = find_at(path, expected);
  if (!node.children.empty()) throw store_error(Kind::not_empty, path);
  Node* const parent = tree_.find(parent_path(path));
  const std::int64_t owner = node.stat.ephemeral_owner;
  if (owner != 0) tree_.ephemerals_[owner].erase(path);
  undo_.emplace_back(
      [this, parent, owner, path,
       removed = parent->children.extract(parent->children.find(base_name(path)))]() mutable {
        parent->children.insert(std::move(removed));
        if (owner != 0) tree_.ephemerals_[owner].insert(path);
      });
  events_.emplace_back(WatchEvent::Kind::removed, path);
  return {path, {}};
}

OperationResult Tree::Writer::check(const Transaction::Operation& operation) {
  require_valid_path(operation.path);
  find_at(operation.path, operation.version);
  return {operation.path, {}};
}

Tree::Node& Tree::Writer::find_at(const std::string& path, std::int32_t expected) {
  Node& node = tree_.find_or_throw(path);
  if (expected == kAnyVersion || expected == node.stat.version) return node;
  throw store_error(
      Kind::bad_version, path,
      "version " + std::to_string(node.stat.version) + ", not " + std::to_string(expected));
}

Tree::Tree() : root_(std::make_unique<Node>()) {}
Tree::~Tree() = default;

Entry Tree::get(std::string_view path) const {
  require_valid_path(path);
  const Node& node = find_or_throw(path);
  return {node.data, node.full_stat()};
}

std::optional<Stat> Tree::exists(std::string_view path) const {
  require_valid_path(path);
  const Node* const node = find(path);
  if (node == nullptr) return std::nullopt;
  return node->full_stat();
}

std::vector<std::string> Tree::children(std::string_view path) const {
  require_valid_path(path);
  const Node& node = find_or_throw(path);
  std::vector<std::string> names;
  names.reserve(node.children.size());
  for (const auto& [name, child] : node.children) names.push_back(name);
  return names;
}

Tree::Change Tree::apply(const Transaction& transaction, std::int64_t session, std::int64_t now) {
  Writer writer(*this, session, now);
  std::vector<OperationResult> results;
  results.reserve(transaction.size());
  for (const Transaction::Operation& operation : transaction.operations()) {
    try {
      results.push_back(writer.apply(operation));
    } catch (const StoreError& refusal) {
      throw TransactionError(refusal, results.size());
    }
  }
  return {std::move(results), writer.finish()};
}

std::vector<WatchEvent> Tree::remove_ephemerals(std::int64_t session) {
  const auto owned = ephemerals_.extract(session);
  if (owned.empty()) return {};
  Writer writer(*this, session, 0);
  for (const std::string& path : owned.mapped()) writer.remove(path, kAnyVersion);
  ephemerals_.erase(session);
  return writer.finish();
}

Tree::Node* Tree::find(std::string_view path) const {
  Node* node = root_.get();
  for (std::string_view rest = relative_path(path, "/"); !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const auto child = node->children.find(rest.substr(0, end));
    if (child == node->children.end()) return nullptr;
    node = child->second.get();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return node;
}

Tree::Node& Tree::find_or_throw(std::string_view path) const {
  Node* const node = find(path);
  if (node == nullptr) throw store_error(Kind::no_node, path);
  return *node;
}

}  // namespace nodepool::coordination::memory
