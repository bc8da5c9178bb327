#pragma once

#include "driver/cloud_error.h"

namespace nodepool::drivers::aws {

// Returns what `read` makes of the answer to a call that changes something. The call may have been
// carried out, whatever the answer says: what cannot be read is CloudError(unknown_outcome) where
// the call `creates` something, as for Call, or else CloudError(transient).
template <typename Read>
auto read_outcome(bool creates, Read read) {
  using Kind = driver::CloudError::Kind;
  try {
    return read();
  } catch (const driver::CloudError& error) {
    throw driver::CloudError(creates ? Kind::unknown_outcome : Kind::transient, error.what());
  }
}

}  // namespace nodepool::drivers::aws
