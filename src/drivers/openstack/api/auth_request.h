#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/openstack/clouds/cloud.h"
#include "http/request.h"

namespace nodepool::drivers::openstack {

// The URL to request tokens from: the cloud's auth_url, with /v3 if it has no version or an old
// one. Throws CloudsError if there is none.
std::string token_url(const Cloud& cloud);

// The body of a token request, by password, application credential or another token. Source:
// Identity API v3, POST /v3/auth/tokens. Contains secrets. Throws CloudsError for an unsupported
// type and for missing values.
std::string auth_request(const Cloud& cloud);

// The header that authenticates all calls of a cloud without an Identity service: auth_type `none`
// and `http_basic`. Nothing: tokens do. Contains secrets. Throws CloudsError for missing values.
std::optional<http::Headers::value_type> fixed_credentials(const Cloud& cloud);

// Throws CloudsError if the cloud's credentials cannot be used: for an unsupported type, and for
// missing values.
void check_credentials(const Cloud& cloud);

// The secrets that the body may contain, for http::Request::secrets.
std::vector<std::string> secrets_of(const Cloud& cloud);

}  // namespace nodepool::drivers::openstack
