#pragma once

#include <string>
#include <string_view>

#include "cloud/element.h"
#include "http/client.h"

namespace nodepool::cloud {

// Whether a call makes something that would be there twice if it were made twice.
enum class Effect { none, creates };

// Whether a cloud's words speak of a quota that is used up.
using SpeaksOfQuota = bool (*)(std::string_view message);

// Whether a status besides those of success is an answer to the caller, and no failure.
using IsAnswer = bool (*)(int status);

// Sends the request, whose name says what for, and returns the answer if it is a success. Throws
// CloudError: of what kind, the status, the text of the answer and the effect say. That text is
// without the request's secrets. `about` is the id of what the call is about, for messages; may be
// empty. `is_answer`: nullptr if only a success is one.
async::Task<http::Response> send(http::Client& client, http::Request request, Effect effect,
                                 std::string about, SpeaksOfQuota speaks_of_quota,
                                 IsAnswer is_answer = nullptr);

// The body of an answer. Throws CloudError(failed) if it is no JSON object.
Element parse_answer(const std::string& call, const http::Response& response);

}  // namespace nodepool::cloud
