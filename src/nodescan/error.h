#pragma once

#include <stdexcept>
#include <string>

namespace nodepool::nodescan {

// A host that could not be scanned. The text names the host, and what the last attempt met.
class ScanError : public std::runtime_error {
 public:
  enum class Kind {
    unresolved,   // the name leads to no address: trying again is of no use until that changes
    unreachable,  // the one attempt that was asked for failed
    timeout,      // the deadline came first
  };

  ScanError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace nodepool::nodescan
