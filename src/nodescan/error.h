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
    queued,       // the name's lookup got no thread in time
    incomplete,   // a key of the host could not be read
  };

  ScanError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

  // Whether it says nothing about the host's health.
  bool is_inconclusive() const { return kind_ == Kind::queued || kind_ == Kind::incomplete; }

 private:
  Kind kind_;
};

}  // namespace nodepool::nodescan
