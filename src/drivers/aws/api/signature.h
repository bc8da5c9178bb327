#pragma once

#include <string>
#include <string_view>

#include "drivers/aws/account/account.h"
#include "http/request.h"

namespace nodepool::drivers::aws {

// What a signature is good for.
struct SigningScope {
  std::string region;
  std::string service;    // "ec2"
  double time = 0;        // seconds since the epoch
  bool is_plain = false;  // S3: the path is signed as it is, and the body's hash is a header
};

// The bytes; and in lower-case hexadecimal.
std::string sha256(std::string_view data);
std::string sha256_hex(std::string_view data);
std::string hexadecimal(std::string_view bytes);

// Adds the headers that prove who sends the request: X-Amz-Date, X-Amz-Security-Token where there
// is a session, Authorization; all others it has are signed as well, but for User-Agent; Host
// too, which it must not have: that is the URL's. The keys become its secrets. `payload_hash`:
// sha256_hex() of the body, or a word that stands for it. Reference: AWS, Signature Version 4.
void sign(http::Request& request, const Keys& keys, const SigningScope& scope,
          std::string_view payload_hash);

}  // namespace nodepool::drivers::aws
