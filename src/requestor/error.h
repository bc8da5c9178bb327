#pragma once

#include <stdexcept>

namespace nodepool::requestor {

// A request or lease operation has failed. The text says what and why, for the user.
class RequestError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nodepool::requestor
