#pragma once

#include <string_view>

#include "cloud/rest/refusal.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::openstack {

// Whether a cloud's message says that a quota is exceeded.
bool speaks_of_quota(std::string_view message);

// The meaning of a response, see cloud::Classify.
cloud::Refusal classify(const http::Response& response, cloud::Effect effect);

// The code of a 403 or 404 that the service itself has not named.
inline constexpr std::string_view kForeign = "foreign";

// The same for a service that names its errors ("itemNotFound", "NeutronError"). A 403 or 404
// without a name is from a proxy or for a wrong URL: it says nothing about the call's object, and
// counts as CloudError::transient, with code kForeign.
cloud::Refusal classify_named(const http::Response& response, cloud::Effect effect);

// Whether such a service itself has refused a read, with 403 or 404.
bool is_refusal(const driver::CloudError& error);

}  // namespace nodepool::drivers::openstack
