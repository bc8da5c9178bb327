#pragma once

#include <stdexcept>
#include <string>

namespace nodepool::nodescan {

// A host could not be scanned. The text names the host and the error of the last attempt.
class ScanError : public std::runtime_error {
 public:
  enum class Kind {
    unresolved,   // the name has no address: retrying does not help
    unreachable,  // the attempt failed (Scanner::Attempts::one)
    timeout,      // the deadline was exceeded
    queued,       // the name's lookup got no thread in time: the host's state is unknown
  };

  ScanError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace nodepool::nodescan
