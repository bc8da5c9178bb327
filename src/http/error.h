#pragma once

#include <stdexcept>
#include <string>

namespace nodepool::http {

// A request without a response.
class HttpError : public std::runtime_error {
 public:
  enum class Kind {
    not_sent,         // no connection, or TLS failed: the server has not received the request
    unknown_outcome,  // the server may have processed the request; no response in time
    too_large,        // the response exceeds the limit
    invalid,          // the request cannot be sent
  };

  HttpError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace nodepool::http
