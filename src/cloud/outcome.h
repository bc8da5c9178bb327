#pragma once

#include "driver/cloud_error.h"

namespace nodepool::cloud {

// Reads the response to a mutating call with `read`, and returns its result. If the response is
// unreadable, the call may have been carried out: throws CloudError(unknown_outcome) if it
// `creates` something, otherwise CloudError(transient).
template <typename Read>
auto read_outcome(bool creates, Read read) {
  using Kind = driver::CloudError::Kind;
  try {
    return read();
  } catch (const driver::CloudError& error) {
    throw driver::CloudError(creates ? Kind::unknown_outcome : Kind::transient, error.what());
  }
}

}  // namespace nodepool::cloud
