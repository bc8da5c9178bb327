#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace nodepool::coordination {

// A rejected or failed operation of a store. The kind decides what the caller does.
class StoreError : public std::runtime_error {
 public:
  enum class Kind {
    // Rejected by the store; nothing has happened.
    no_node,      // the path (or the parent of a created one) does not exist
    node_exists,  // a created path exists already
    bad_version,  // the node changed since the version was read
    not_empty,    // a removed node has children
    no_children,  // ephemeral nodes cannot have children
    invalid,      // a malformed path or argument: a programming error, or hostile input
    too_large,    // a record or a transaction exceeds the store's limit
    // Failures: the operation did not succeed, or its outcome is unknown.
    unknown_outcome,  // it may have happened: check before retrying
    disconnected,     // it has not happened; the store is unreachable
    session_expired,  // the session and its ephemeral nodes are gone
    storage,          // the store is broken or refuses this: an operator must act
    no_space,         // the disk of the embedded store is full; it has not happened
    not_permitted,    // an access control list forbids it; it has not happened
    closed,           // the store has been closed by this process
  };

  StoreError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

  // Whether a working store rejected the operation because of the tree or the arguments.
  bool is_rejection() const { return kind_ <= Kind::too_large; }

  // Whether the store rejected the arguments themselves: the same call always fails.
  bool is_argument_error() const { return kind_ == Kind::invalid || kind_ == Kind::too_large; }

 private:
  Kind kind_;
};

// The kind's name for messages and logs, e.g. "bad version".
std::string_view to_string(StoreError::Kind kind);

// Creates the error for `kind` with the path and an optional detail.
StoreError store_error(StoreError::Kind kind, std::string_view path, std::string_view detail = {});

}  // namespace nodepool::coordination
