#include "model/unseen_nodes.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <exception>
#include <string_view>
#include <vector>

#include "async/task_scope.h"
#include "model/paths.h"

namespace nodepool::model {

namespace {

using async::Task;
using coordination::StoreError;

// Up to this number nodes are read one by one; for more, their names are listed first.
constexpr std::size_t kFewNodes = 50;

// Returns -1 for an empty id.
std::int64_t number_of(std::string_view id) {
  std::int64_t value = -1;
  std::from_chars(id.data(), id.data() + id.size(), value);
  return value;
}

// The ids that the table does not have: at most kFewNodes + 1.
std::vector<std::string> unknown_ids(const NodeTable& nodes, std::string_view first,
                                     std::string_view last) {
  std::vector<std::string> ids;
  for (std::int64_t number = number_of(first) + 1; number < number_of(last); ++number) {
    std::string id = fmt::format("{:010}", number);
    if (nodes.find(id) == nullptr) ids.push_back(std::move(id));
    if (ids.size() > kFewNodes) break;
  }
  return ids;
}

Task<> read_node(coordination::Store& store, NodeTable& nodes, std::string id,
                 std::exception_ptr& failure) {
  try {
    const coordination::Entry entry = co_await store.get(node_path(id));
    nodes.seen(id, entry);
  } catch (const StoreError& error) {
    using Kind = StoreError::Kind;
    if (error.kind() == Kind::no_node) co_return;
    // The table reports it.
    if (error.kind() != Kind::not_permitted) failure = std::current_exception();
  }
}

}  // namespace

Task<> read_unseen_nodes(async::Runtime runtime, coordination::Store& store, NodeTable& nodes,
                         std::string before) {
  const std::string after = nodes.seen_before();
  std::vector<std::string> unseen;
  if (!before.empty()) unseen = unknown_ids(nodes, after, before);
  if (before.empty() || unseen.size() > kFewNodes) {
    unseen = co_await store.children(std::string(kNodesRoot));
    std::erase_if(unseen, [&](const std::string& id) {
      return id <= after || (!before.empty() && id >= before);
    });
  }
  std::exception_ptr failure;
  async::TaskScope reads(runtime, [](const std::string&, const std::string&) {});
  for (const std::string& id : unseen) {
    if (nodes.find(id) != nullptr) continue;
    reads.spawn("read node " + id, read_node(store, nodes, id, failure));
  }
  co_await reads.join();
  if (failure) std::rethrow_exception(failure);
  nodes.seen_all_before(before);
}

}  // namespace nodepool::model
