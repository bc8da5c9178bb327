#pragma once

#include <string>
#include <string_view>

#include "drivers/aws/account/account.h"
#include "http/request.h"

namespace nodepool::drivers::aws {

// The scope of a signature.
struct SigningScope {
  std::string region;
  std::string service;    // "ec2"
  double time = 0;        // seconds since the epoch
  bool is_plain = false;  // S3: signs the path unchanged, and adds the body's hash as a header
};

// Signs a request: adds X-Amz-Date, X-Amz-Security-Token (with a session token) and Authorization.
// Signs all headers except User-Agent, and Host, which is taken from the URL and must not be set.
// Adds the keys to the request's secrets. `payload_hash`: sha256_hex() of the body, or a
// placeholder. Source: AWS, Signature Version 4.
void sign(http::Request& request, const Keys& keys, const SigningScope& scope,
          std::string_view payload_hash);

}  // namespace nodepool::drivers::aws
