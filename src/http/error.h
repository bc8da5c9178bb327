#pragma once

#include <stdexcept>
#include <string>

namespace nodepool::http {

// No answer. The kind says what may have happened.
class HttpError : public std::runtime_error {
 public:
  enum class Kind {
    not_sent,         // no connection, or no trust in it: the server has not seen the request
    unknown_outcome,  // it may have; the answer did not arrive, or not in time
    too_large,        // the answer is larger than is allowed
    invalid,          // the request cannot be sent at all
  };

  HttpError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace nodepool::http
