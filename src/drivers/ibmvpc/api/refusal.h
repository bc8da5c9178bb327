#pragma once

#include <string>
#include <string_view>

#include "cloud/rest/refusal.h"
#include "driver/cloud_error.h"

namespace nodepool::drivers::ibmvpc {

// What a response of IBM's APIs other than a success means; see cloud::Classify.
cloud::Refusal classify(const http::Response& response, cloud::Effect effect);

// The error of an instance that does not come up, for the code of its state ("cannot_start_
// capacity"; may be empty).
driver::CloudError failure_of(std::string_view code, const std::string& message);

}  // namespace nodepool::drivers::ibmvpc
