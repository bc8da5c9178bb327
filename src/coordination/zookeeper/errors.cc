#include "coordination/zookeeper/errors.h"

#include <string>

namespace nodepool::coordination::zookeeper {

namespace {

using Kind = StoreError::Kind;

constexpr std::int32_t kSessionExpired = -112;
constexpr std::int32_t kSessionMoved = -118;

// KeeperException.Code
Kind kind_of(std::int32_t code) {
  switch (code) {
    case kNoNode:
      return Kind::no_node;
    case -103:
      return Kind::bad_version;
    case -108:
      return Kind::no_children;
    case -110:
      return Kind::node_exists;
    case -111:
      return Kind::not_empty;
    case -8:  // bad arguments
      return Kind::invalid;
    case kSessionExpired:
      return Kind::session_expired;
    case kSessionMoved:  // this connection is not the session's any more
    case -119:           // not read-only: the server has lost its ensemble
    case -127:           // throttled
      return Kind::disconnected;
    case -4:    // connection loss, inside the ensemble
    case -7:    // operation timeout
    case -122:  // request timeout
      return Kind::unknown_outcome;
    default:  // no authority, quota exceeded, unimplemented, internal failures: for an operator
      return Kind::storage;
  }
}

}  // namespace

StoreError error_for(std::int32_t code, std::string_view path) {
  const Kind kind = kind_of(code);
  if (kind == Kind::storage || kind == Kind::disconnected || kind == Kind::unknown_outcome) {
    return store_error(kind, path, "ZooKeeper error " + std::to_string(code));
  }
  return store_error(kind, path);
}

bool ends_connection(std::int32_t code) {
  return code == kSessionExpired || code == kSessionMoved;
}

void require_ok(std::int32_t code, std::string_view path) {
  if (code != kOk) throw error_for(code, path);
}

}  // namespace nodepool::coordination::zookeeper
