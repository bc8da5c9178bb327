#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nodepool::model {

// Records are read with every event, and listed: a reason must not be a page. Bytes of UTF-8.
inline constexpr std::size_t kLongestFailure = 1000;

// A reason as records of builds and uploads have it: one line without control characters, each gap
// one space, and without its middle if it is too long. The beginning says what was being done, the
// end what came back.
std::string failure_text(std::string_view reason);

}  // namespace nodepool::model
