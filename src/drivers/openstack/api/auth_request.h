#pragma once

#include <string>
#include <vector>

#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// Where tokens are asked for: the cloud's auth_url, with /v3 if it has no version or an old one.
// Throws CloudsError if there is none.
std::string token_url(const Cloud& cloud);

// The body of the call that asks for a token: by password, application credential or another token.
// Reference: Identity API v3, POST /v3/auth/tokens. Holds secrets. Throws CloudsError for a type
// that is not supported, and for what is missing.
std::string auth_request(const Cloud& cloud);

// Those that it may hold, for http::Request::secrets.
std::vector<std::string> secrets_of(const Cloud& cloud);

}  // namespace nodepool::drivers::openstack
