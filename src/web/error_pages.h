#pragma once

#include <chrono>
#include <string>

#include "web/message.h"

namespace nodepool::web {

// An error response in the format that the client accepts. `message` explains the status.
Response error_page(unsigned status, const std::string& message, const Request& request);

// How long a page waits for complete records.
inline constexpr auto kRecordsTimeout = std::chrono::seconds(15);

// The response (503) if they are still incomplete then.
Response incomplete_records_page(const Request& request);

// "Not Found" for 404.
std::string reason_phrase(unsigned status);

}  // namespace nodepool::web
