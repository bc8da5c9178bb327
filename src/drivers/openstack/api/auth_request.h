#pragma once

#include <string>
#include <vector>

#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// The URL to request tokens from: the cloud's auth_url, with /v3 if it has no version or an old
// one. Throws CloudsError if there is none.
std::string token_url(const Cloud& cloud);

// The body of a token request, by password, application credential or another token. Source:
// Identity API v3, POST /v3/auth/tokens. Contains secrets. Throws CloudsError for an unsupported
// type and for missing values.
std::string auth_request(const Cloud& cloud);

// The secrets that the body may contain, for http::Request::secrets.
std::vector<std::string> secrets_of(const Cloud& cloud);

}  // namespace nodepool::drivers::openstack
