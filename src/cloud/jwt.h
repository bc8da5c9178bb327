#pragma once

#include <string>

namespace nodepool::cloud {

// A JWT (RFC 7519) signed with RS256. `header` and `claims` are JSON texts, `private_key` is PEM;
// what precedes the key in it is ignored. Throws CloudError(auth), without the key, if that is no
// RSA key or encrypted.
std::string signed_jwt(const std::string& private_key, const std::string& header,
                       const std::string& claims);

}  // namespace nodepool::cloud
