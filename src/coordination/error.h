#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace nodepool::coordination {

// A store's refusal or failure. The kind says what the caller does about it.
class StoreError : public std::runtime_error {
 public:
  enum class Kind {
    // Answers about the tree: the caller's own logic decides.
    no_node,      // the path (or the parent of a created one) does not exist
    node_exists,  // a created path exists already
    bad_version,  // the node changed since the version was read
    not_empty,    // a removed node has children
    no_children,  // ephemeral nodes cannot have children
    invalid,      // a malformed path or argument, or a record over the size limit: a programming
                  // error, or hostile input
    // Failures: the operation did not succeed, or nobody knows.
    unknown_outcome,  // it may or may not have happened: look before repeating it
    disconnected,     // it has not happened; the store is out of reach for now
    session_expired,  // the session is gone with its ephemeral nodes: drop what was derived from it
    storage,          // the store itself is broken or full: an operator must act
    closed,           // the store has been closed by this process
  };

  StoreError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

  // Whether the answer came from a working store and speaks of the tree.
  bool is_answer() const { return kind_ <= Kind::invalid; }

 private:
  Kind kind_;
};

// The kind's name for messages and logs, e.g. "bad version".
std::string_view to_string(StoreError::Kind kind);

// Makes the error for `kind` with the path and, optionally, what else is known.
StoreError store_error(StoreError::Kind kind, std::string_view path, std::string_view detail = {});

}  // namespace nodepool::coordination
