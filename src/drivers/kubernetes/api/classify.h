#pragma once

#include <string_view>

#include "cloud/rest/refusal.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::kubernetes {

// Codes of errors: the `reason` of the cluster's answer, but for these.
inline constexpr std::string_view kAlreadyExists = "AlreadyExists";  // as the cluster calls it
inline constexpr std::string_view kForbidden = "Forbidden";          // as the cluster calls it
inline constexpr std::string_view kNotFound = "NotFound";            // as the cluster calls it
// Any other 409: something has changed meanwhile, such as a quota. The call had no effect.
inline constexpr std::string_view kConflict = "Conflict";
// An object cannot be made yet: the cluster's controllers have not set up its namespace. The reason
// is Forbidden.
inline constexpr std::string_view kNewNamespace = "NewNamespace";

// The meaning of a response, see cloud::Classify. A status 404, or 403 for a call that creates
// nothing, without the cluster's reason is `transient`: it is the answer of a proxy, and says
// nothing about the object or the user's permissions.
cloud::Refusal classify(const http::Response& response, cloud::Effect effect);

// Whether the user has no permission for a call that creates nothing, by the cluster's own answer.
bool lacks_permission(const driver::CloudError& error);

}  // namespace nodepool::drivers::kubernetes
