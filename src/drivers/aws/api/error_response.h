#pragma once

#include <string>
#include <string_view>

#include "driver/cloud_error.h"
#include "http/request.h"

namespace nodepool::drivers::aws {

// An error response.
struct ErrorResponse {
  std::string code;  // "InvalidInstanceID.NotFound"; empty: none
  std::string message;
};

// Reads an error response in any of AWS's formats.
ErrorResponse error_in(const http::Response& response);

// Whether the call was throttled; it was not carried out.
bool is_throttled(const ErrorResponse& refusal, int status);

// Whether the keys have expired or are unknown, so that new ones are needed.
bool needs_new_keys(const ErrorResponse& refusal);

// The kind of error. `creates`: whether a repeated call would create a duplicate.
driver::CloudError::Kind kind_of(const ErrorResponse& refusal, int status, bool creates);

// Converts a message to one line of limited length without control characters.
std::string presentable(std::string message);

}  // namespace nodepool::drivers::aws
