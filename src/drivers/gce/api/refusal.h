#pragma once

#include "cloud/rest/refusal.h"
#include "driver/cloud_error.h"
#include "drivers/gce/api/values.h"

namespace nodepool::drivers::gce {

// What a response of Compute Engine other than a success means; see cloud::Classify. The status 403
// has three meanings: no permission, too many calls, and an exhausted quota.
cloud::Refusal classify(const http::Response& response, cloud::Effect effect);

// The error of a failed operation that was to create an instance. `what` names it in the text.
driver::CloudError failure_of(const ComputeOperation& operation, const std::string& what);

}  // namespace nodepool::drivers::gce
