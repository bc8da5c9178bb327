#pragma once

#include <string>
#include <vector>

#include "cloud/rest/refusal.h"
#include "driver/cloud_error.h"
#include "http/request.h"

namespace nodepool::drivers::aws {

// The headers of a response with AWS's id of the request.
inline const std::vector<std::string> kRequestIdHeaders = {"x-amzn-requestid", "x-amz-request-id"};

// An error response.
struct ErrorResponse {
  std::string code;  // "InvalidInstanceID.NotFound"; empty: none
  std::string message;
};

// Reads an error response in any of AWS's formats.
ErrorResponse error_in(const http::Response& response);

// The kind of error. `creates`: whether a repeated call would create a duplicate.
driver::CloudError::Kind kind_of(const ErrorResponse& error, int status, bool creates);

// The meaning of a response, see cloud::Classify.
cloud::Refusal classify(const http::Response& response, cloud::Effect effect);

// The error of an object that a call with this status could not change. `call`: its name, and the
// object's.
driver::CloudError to_cloud_error(const std::string& call, const ErrorResponse& error,
                                  int status = 200);

}  // namespace nodepool::drivers::aws
