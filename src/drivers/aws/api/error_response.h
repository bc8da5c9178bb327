#pragma once

#include <string>
#include <string_view>

#include "driver/cloud_error.h"
#include "http/request.h"

namespace nodepool::drivers::aws {

// An answer that is an error, in whichever of AWS' forms.
struct ErrorResponse {
  std::string code;     // "InvalidInstanceID.NotFound"; empty: it names none
  std::string message;  // in words
};
ErrorResponse refusal_in(const http::Response& response);

// Whether the caller is asked to go slower: it was not acted upon.
bool says_slower(const ErrorResponse& refusal, int status);

// Whether the keys are to be got anew: they have run out, or are not known (yet, or any more).
bool says_keys_are_old(const ErrorResponse& refusal);

// `creates`: the call makes something, and nobody can tell whether it has.
driver::CloudError::Kind kind_of(const ErrorResponse& refusal, int status, bool creates);

// One line of readable text, not too long.
std::string presentable(std::string message);

}  // namespace nodepool::drivers::aws
