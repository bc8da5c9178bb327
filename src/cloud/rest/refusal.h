#pragma once

#include <string>

#include "driver/cloud_error.h"
#include "http/request.h"

namespace nodepool::cloud {

// What a call does in the cloud.
enum class Effect {
  none,           // creates nothing
  creates,        // a repeated call would create a duplicate
  creates_named,  // a repeated call would not: the object's name is fixed
};

// What a response other than a success means.
struct Refusal {
  driver::CloudError::Kind kind = driver::CloudError::Kind::failed;
  std::string code = {};           // the cloud's own; empty: none
  std::string message = {};        // with the status: "HTTP 404: no such image"
  bool retry = false;              // the same call may succeed; this one may have had an effect
  bool had_no_effect = false;      // with `retry`: this one certainly had none
  bool slow_down = false;          // too many calls: this one had no effect
  bool renew_credentials = false;  // the credentials were rejected: the call had no effect
};

// What a response of a cloud means. A pure function.
using Classify = Refusal (*)(const http::Response& response, Effect effect);

// The meaning of the status, for clouds without codes for all errors. Finds the message in
// {"message": …} and {"badRequest": {"message": …}}; otherwise it is the body. The code is the
// `reason` or `type` beside the message, otherwise the name of its object ("badRequest"). The
// message of a redirection, which is never followed, names its URL without user and query.
Refusal refusal_by_status(const http::Response& response, Effect effect);

// The message as one line of limited length without control characters.
std::string presentable(std::string message);

}  // namespace nodepool::cloud
