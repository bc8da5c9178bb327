#pragma once

#include <string>

#include "drivers/openstack/api/element.h"
#include "http/client.h"

namespace nodepool::drivers::openstack {

// Whether a call makes something that would be there twice if it were made twice.
enum class Effect { none, creates };

// Sends the request, whose name says what for, and returns the answer if it is a success. Throws
// CloudError: of what kind, the status, the text of the answer and the effect say. That text is
// without the request's secrets. `about` is the id of what the call is about, for messages; may be
// empty.
async::Task<http::Response> send(http::Client& client, http::Request request, Effect effect,
                                 std::string about = {});

// The body of an answer. Throws CloudError(failed) if it is no JSON object.
Element parse_answer(const std::string& call, const http::Response& response);

// Whether a cloud's words speak of a quota that is used up.
bool speaks_of_quota(std::string_view message);

}  // namespace nodepool::drivers::openstack
