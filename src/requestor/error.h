#pragma once

#include <stdexcept>

namespace nodepool::requestor {

// A request or lease operation has failed. The text says what and why, for the user.
class RequestError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The operation is refused until the token or its rights, the limits, the operation or the trusted
// certificates are changed. A request for more nodes than the token may have now is not: it is
// another RequestError, because it may succeed after a release.
class Refused : public RequestError {
 public:
  using RequestError::RequestError;
};

// The request has ended with the session that created it.
class RequestLost : public RequestError {
 public:
  using RequestError::RequestError;
};

// There is no such lease, or the node is not leased: it has expired, or has been released.
class NoSuchLease : public RequestError {
 public:
  using RequestError::RequestError;
};

}  // namespace nodepool::requestor
