#pragma once

#include <string>
#include <string_view>

#include "cloud/element.h"
#include "cloud/rest/refusal.h"
#include "http/client.h"

namespace nodepool::cloud {

// Whether a cloud's message says that a quota is exceeded.
using SpeaksOfQuota = bool (*)(std::string_view message);

// Whether a status other than success is a valid response, and no failure.
using IsAnswer = bool (*)(int status);

// Sends the request, and returns the response if it is a success. Throws CloudError; its kind
// depends on the status, the message of the response and the effect. The error's text contains none
// of the request's secrets. `about` is the id of the object of the call, for messages; may be
// empty. `is_rejection`: nullptr if only a success is valid.
async::Task<http::Response> send(http::Client& client, http::Request request, Effect effect,
                                 std::string about, SpeaksOfQuota speaks_of_quota,
                                 IsAnswer is_rejection = nullptr);

// The body of a response. Throws CloudError(failed) if it is no JSON object.
Element parse_answer(const std::string& call, const http::Response& response);

}  // namespace nodepool::cloud
