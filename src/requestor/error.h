#pragma once

#include <stdexcept>

namespace nodepool::requestor {

// What was asked for cannot be had: the text says what and why, for the person who asked.
class RequestError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nodepool::requestor
