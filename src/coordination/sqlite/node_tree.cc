#include "coordination/sqlite/node_tree.h"

#include <algorithm>
#include <utility>

#include "coordination/path.h"

namespace nodepool::coordination::sqlite {

using Kind = StoreError::Kind;

namespace {

// A path's key in the table. The root is the only node without a parent.
struct Key {
  explicit Key(std::string_view path)
      : parent(path == "/" ? std::string_view() : parent_path(path)), name(base_name(path)) {}

  std::string_view parent;
  std::string_view name;
};

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

// The columns for is_hidden() and node_of(), in order.
constexpr std::string_view kColumns =
    "czxid, mzxid, ctime, mtime, version, ephemeral_owner, length(data), num_children, "
    "children_created";
constexpr int kOwner = 5;
constexpr int kData = 9;  // after them, where it is selected

std::string select(const std::string& columns) {
  return "SELECT " + columns + " FROM nodes WHERE parent = ? AND name = ?";
}

}  // namespace

NodeTree::NodeTree(Database& database, ChangeLog& log)
    : log_(log),
      find_(database, select(std::string(kColumns))),
      get_(database, select(std::string(kColumns) + ", data")),
      children_(database, "SELECT name, ephemeral_owner FROM nodes WHERE parent = ? ORDER BY name"),
      insert_(database,
              "INSERT INTO nodes (parent, name, data, czxid, mzxid, ctime, mtime, ephemeral_owner) "
              "VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?5, ?6) ON CONFLICT DO NOTHING"),
      count_new_child_(database,
                       "UPDATE nodes SET num_children = num_children + 1, "
                       "children_created = children_created + 1 WHERE parent = ? AND name = ?"),
      count_removed_child_(database,
                           "UPDATE nodes SET num_children = num_children - 1 "
                           "WHERE parent = ? AND name = ?"),
      update_(database,
              "UPDATE nodes SET data = ?, mzxid = ?, mtime = ?, version = version + 1 "
              "WHERE parent = ? AND name = ?"),
      delete_(database, "DELETE FROM nodes WHERE parent = ? AND name = ?"),
      ephemerals_(database,
                  "SELECT parent, name FROM nodes "
                  "WHERE ephemeral_owner = ? AND ephemeral_owner <> 0 ORDER BY parent, name") {}

Entry NodeTree::get(std::string_view path) {
  require_valid_path(path);
  const Key key(path);
  SqlStatement::Rows rows = get_.query(key.parent, key.name);
  if (!rows.next() || is_hidden(rows.integer(kOwner))) throw store_error(Kind::no_node, path);
  return {rows.text(kData), node_of(rows).stat};
}

std::optional<Stat> NodeTree::exists(std::string_view path) {
  require_valid_path(path);
  const std::optional<Node> node = find(path);
  if (!node) return std::nullopt;
  return node->stat;
}

std::vector<std::string> NodeTree::children(std::string_view path) {
  require_valid_path(path);
  const Node node = find_at(path, kAnyVersion);
  std::vector<std::string> names;
  if (node.stat.num_children == 0) return names;
  names.reserve(static_cast<std::size_t>(node.stat.num_children));
  SqlStatement::Rows rows = children_.query(path);
  while (rows.next()) {
    if (!is_hidden(rows.integer(1))) names.push_back(rows.text(0));
  }
  return names;
}

OperationResult NodeTree::apply(const Transaction::Operation& operation, const Author& author) {
  return apply(operation, Context{author, log_.last() + 1});
}

std::vector<OperationResult> NodeTree::apply(const Transaction& transaction, const Author& author) {
  const Context context{author, log_.last() + 1};
  std::vector<OperationResult> results;
  results.reserve(transaction.size());
  for (const Transaction::Operation& operation : transaction.operations()) {
    try {
      results.push_back(apply(operation, context));
    } catch (const StoreError& error) {
      if (!error.is_rejection()) throw;
      throw TransactionError(error, results.size());
    }
  }
  return results;
}

void NodeTree::remove_ephemerals(std::int64_t session) {
  std::vector<std::string> paths;
  {
    SqlStatement::Rows rows = ephemerals_.query(session);
    while (rows.next()) paths.push_back(join_path(rows.text(0), rows.text(1)));
  }
  for (const std::string& path : paths) erase(path);
}

OperationResult NodeTree::apply(const Transaction::Operation& operation, const Context& context) {
  switch (operation.kind) {
    case Transaction::Kind::create:
      return create(operation, context);
    case Transaction::Kind::set:
      return set(operation, context);
    case Transaction::Kind::remove:
      return remove(operation);
    case Transaction::Kind::check:
      return check(operation);
  }
  throw store_error(Kind::invalid, operation.path, "unknown operation");
}

OperationResult NodeTree::create(const Transaction::Operation& operation, const Context& context) {
  const bool sequential = is_sequential(operation.mode);
  // The digits may be the whole name: "/a/" is a valid path for a sequential node.
  require_valid_path(sequential ? operation.path + '0' : operation.path);
  require_valid_size(operation.path, operation.data);
  const std::string_view parent = parent_path(operation.path);
  const std::optional<Node> above = find(parent);
  if (!above) throw store_error(Kind::no_node, operation.path, "no parent");
  if (above->stat.ephemeral_owner != 0) throw store_error(Kind::no_children, operation.path);

  std::string path = operation.path;
  if (sequential) path += ten_digits(above->children_created);
  const Stat stat{
      .czxid = context.zxid,
      .mzxid = context.zxid,
      .ctime = context.author.now,
      .mtime = context.author.now,
      .ephemeral_owner = is_ephemeral(operation.mode) ? context.author.session : 0,
      .data_length = static_cast<std::int32_t>(operation.data.size()),
  };
  const Key key(path);
  const std::int64_t inserted = insert_.execute(key.parent, key.name, Blob{operation.data},
                                                stat.czxid, stat.ctime, stat.ephemeral_owner);
  if (inserted == 0) throw store_error(Kind::node_exists, path);
  const Key parent_key(parent);
  count_new_child_.execute(parent_key.parent, parent_key.name);
  log_.append(WatchEvent::Kind::created, path);
  return {std::move(path), stat};
}

OperationResult NodeTree::set(const Transaction::Operation& operation, const Context& context) {
  require_valid_path(operation.path);
  require_valid_size(operation.path, operation.data);
  Stat stat = find_at(operation.path, operation.version).stat;
  stat.mzxid = context.zxid;
  stat.mtime = context.author.now;
  stat.data_length = static_cast<std::int32_t>(operation.data.size());
  ++stat.version;
  const Key key(operation.path);
  update_.execute(Blob{operation.data}, stat.mzxid, stat.mtime, key.parent, key.name);
  log_.append(WatchEvent::Kind::changed, operation.path);
  return {operation.path, stat};
}

OperationResult NodeTree::remove(const Transaction::Operation& operation) {
  const std::string& path = operation.path;
  require_valid_path(path);
  if (path == "/") throw store_error(Kind::invalid, path, "the root cannot be removed");
  const Node node = find_at(path, operation.version);
  if (node.stat.num_children != 0) throw store_error(Kind::not_empty, path);
  erase(path);
  return {path, {}};
}

OperationResult NodeTree::check(const Transaction::Operation& operation) {
  require_valid_path(operation.path);
  find_at(operation.path, operation.version);
  return {operation.path, {}};
}

std::optional<NodeTree::Node> NodeTree::find(std::string_view path) {
  const Key key(path);
  SqlStatement::Rows rows = find_.query(key.parent, key.name);
  if (!rows.next() || is_hidden(rows.integer(kOwner))) return std::nullopt;
  return node_of(rows);
}

NodeTree::Node NodeTree::node_of(const SqlStatement::Rows& rows) {
  return {
      .stat = {.czxid = rows.integer(0),
               .mzxid = rows.integer(1),
               .ctime = rows.integer(2),
               .mtime = rows.integer(3),
               .version = static_cast<std::int32_t>(rows.integer(4)),
               .ephemeral_owner = rows.integer(5),
               .data_length = static_cast<std::int32_t>(rows.integer(6)),
               .num_children = static_cast<std::int32_t>(rows.integer(7))},
      .children_created = rows.integer(8),
  };
}

bool NodeTree::is_hidden(std::int64_t owner) const {
  return std::ranges::binary_search(hidden_, owner);
}

NodeTree::Node NodeTree::find_at(std::string_view path, std::int32_t expected) {
  const std::optional<Node> node = find(path);
  if (!node) throw store_error(Kind::no_node, path);
  const std::int32_t version = node->stat.version;
  if (expected == kAnyVersion || expected == version) return *node;
  throw store_error(Kind::bad_version, path,
                    "version " + std::to_string(version) + ", not " + std::to_string(expected));
}

void NodeTree::erase(std::string_view path) {
  const Key key(path);
  delete_.execute(key.parent, key.name);
  const Key parent_key(key.parent);
  count_removed_child_.execute(parent_key.parent, parent_key.name);
  log_.append(WatchEvent::Kind::removed, path);
}

}  // namespace nodepool::coordination::sqlite
