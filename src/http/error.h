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

  HttpError(Kind kind, const std::string& message, bool is_untrusted = false)
      : std::runtime_error(message), kind_(kind), is_untrusted_(is_untrusted) {}

  Kind kind() const { return kind_; }

  // Whether the certificate of the server cannot be verified, which only a change on this host or
  // on the server changes.
  bool is_untrusted() const { return is_untrusted_; }

 private:
  Kind kind_;
  bool is_untrusted_;
};

}  // namespace nodepool::http
