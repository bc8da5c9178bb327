#include "coordination/zookeeper/errors.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace nodepool::coordination::zookeeper {

namespace {

using Kind = StoreError::Kind;

constexpr std::int32_t kSessionExpired = -112;
constexpr std::int32_t kSessionMoved = -118;

struct Meaning {
  std::int32_t code = 0;
  Kind kind = Kind::storage;
  std::string_view words;  // empty: the kind is enough
};

// The codes of KeeperException.Code that requests of a Store can get.
constexpr Meaning kMeanings[] = {
    {-1, Kind::storage, "the server failed (SystemError)"},
    {-2, Kind::storage, "the server found an inconsistency (RuntimeInconsistency)"},
    {-3, Kind::storage, "the server found inconsistent data (DataInconsistency)"},
    {-4, Kind::unknown_outcome, "the server lost the ensemble's leader (ConnectionLoss)"},
    {-5, Kind::storage, "the server cannot decode the request (MarshallingError)"},
    {kUnimplemented, Kind::storage,
     "the server does not support this request; ZooKeeper 3.6 or later is required "
     "(Unimplemented)"},
    {-7, Kind::unknown_outcome, "the ensemble did not respond in time (OperationTimeout)"},
    {-8, Kind::invalid, {}},
    {kNoNode, Kind::no_node, {}},
    {-102, Kind::not_permitted, "an access control list does not permit it (NoAuth)"},
    {-103, Kind::bad_version, {}},
    {-108, Kind::no_children, {}},
    {-110, Kind::node_exists, {}},
    {-111, Kind::not_empty, {}},
    {kSessionExpired, Kind::session_expired, {}},
    {-114, Kind::storage, "the server does not accept the access control list (InvalidACL)"},
    {-115, Kind::storage, "the server does not accept the credentials (AuthFailed)"},
    {kSessionMoved, Kind::disconnected, "the session is on another connection (SessionMoved)"},
    {-119, Kind::disconnected, "the server is read-only (NotReadOnly)"},
    {-122, Kind::unknown_outcome, "the ensemble did not respond in time (RequestTimeout)"},
    {-124, Kind::storage, "the server requires authentication (SessionClosedRequireSaslAuth)"},
    {-125, Kind::storage, "the quota of a node above it is exhausted (QuotaExceeded)"},
    {-127, Kind::disconnected, "the server is overloaded (ThrottledOp)"},
};

std::string_view verb(OpCode attempted) {
  switch (attempted) {
    case OpCode::create:
    case OpCode::create2:
      return "create";
    case OpCode::remove:
      return "delete";
    case OpCode::exists:
    case OpCode::get_data:
      return "read";
    case OpCode::set_data:
      return "change";
    case OpCode::get_children:
      return "list the children of";
    case OpCode::multi:
      return "commit the transaction that begins with";
    case OpCode::add_watch:
      return "watch";
    case OpCode::auth:
      return "authenticate";
    default:
      return "serve a request for";
  }
}

}  // namespace

StoreError error_for(std::int32_t code, OpCode attempted, std::string_view path) {
  const auto* const known = std::ranges::find(kMeanings, code, &Meaning::code);
  const bool is_known = known != std::end(kMeanings);
  const Kind kind = is_known ? known->kind : Kind::storage;
  const std::string why = is_known ? std::string(known->words) : "error " + std::to_string(code);
  const std::string attempt(verb(attempted));
  if (kind == Kind::storage || kind == Kind::not_permitted) {
    return {kind, "ZooKeeper refuses to " + attempt + " " + std::string(path) + ": " + why};
  }
  return why.empty() ? store_error(kind, path) : store_error(kind, path, attempt + ": " + why);
}

bool ends_connection(std::int32_t code) {
  return code == kSessionExpired || code == kSessionMoved;
}

void require_ok(std::int32_t code, OpCode attempted, std::string_view path) {
  if (code != kOk) throw error_for(code, attempted, path);
}

}  // namespace nodepool::coordination::zookeeper
