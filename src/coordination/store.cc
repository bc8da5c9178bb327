#include "coordination/store.h"

namespace nodepool::coordination {

std::string_view to_string(StoreError::Kind kind) {
  switch (kind) {
    case StoreError::Kind::no_node:
      return "not found";
    case StoreError::Kind::node_exists:
      return "already exists";
    case StoreError::Kind::bad_version:
      return "version conflict";
    case StoreError::Kind::not_empty:
      return "node has children";
    case StoreError::Kind::no_children:
      return "ephemeral nodes cannot have children";
    case StoreError::Kind::invalid:
      return "invalid argument";
    case StoreError::Kind::too_large:
      return "too large";
    case StoreError::Kind::unknown_outcome:
      return "connection lost, outcome unknown";
    case StoreError::Kind::disconnected:
      return "store unreachable";
    case StoreError::Kind::session_expired:
      return "session expired";
    case StoreError::Kind::storage:
      return "storage failure";
    case StoreError::Kind::no_space:
      return "disk full";
    case StoreError::Kind::not_permitted:
      return "not permitted";
    case StoreError::Kind::closed:
      return "store closed";
  }
  return "unknown";
}

StoreError store_error(StoreError::Kind kind, std::string_view path, std::string_view detail) {
  std::string message(to_string(kind));
  if (!path.empty()) message.append(": ").append(path);
  if (!detail.empty()) message.append(" (").append(detail).append(")");
  return {kind, message};
}

void require_valid_size(std::string_view path, std::string_view data) {
  if (data.size() <= kMaximumDataSize) return;
  throw store_error(StoreError::Kind::too_large, path,
                    std::to_string(data.size()) + " bytes exceed the limit of " +
                        std::to_string(kMaximumDataSize));
}

Transaction& Transaction::create(std::string path, std::string data, CreateMode mode) {
  operations_.push_back({Kind::create, std::move(path), std::move(data), mode, kAnyVersion});
  return *this;
}

Transaction& Transaction::set(std::string path, std::string data, std::int32_t expected) {
  operations_.push_back(
      {Kind::set, std::move(path), std::move(data), CreateMode::persistent, expected});
  return *this;
}

Transaction& Transaction::remove(std::string path, std::int32_t expected) {
  operations_.push_back({Kind::remove, std::move(path), {}, CreateMode::persistent, expected});
  return *this;
}

Transaction& Transaction::check(std::string path, std::int32_t expected) {
  operations_.push_back({Kind::check, std::move(path), {}, CreateMode::persistent, expected});
  return *this;
}

Transaction& Transaction::append(const Transaction& other) {
  operations_.insert(operations_.end(), other.operations_.begin(), other.operations_.end());
  return *this;
}

}  // namespace nodepool::coordination
