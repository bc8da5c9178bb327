#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nodepool::model {

// In bytes of UTF-8. Records are read with every event, so reasons are limited.
inline constexpr std::size_t kLongestFailure = 1000;

// Formats a reason for a record: one line without control characters, with single spaces, and
// without its middle if it is too long. The beginning usually has the operation, the end the error.
std::string failure_text(std::string_view reason);

}  // namespace nodepool::model
