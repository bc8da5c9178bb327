#pragma once

#include <string>

#include "cloud/rest/refusal.h"
#include "driver/cloud_error.h"
#include "json/json.h"

namespace nodepool::drivers::azure {

// What a response of Azure Resource Manager other than a success means; see cloud::Classify. Codes
// have several meanings, so the status, the code and the message count.
cloud::Refusal classify(const http::Response& response, cloud::Effect effect);

// The error of an operation that has failed after it was accepted. `body`: its status, with the
// member `error`. `what` names it in the text.
driver::CloudError failure_of(const json::Json& body, const std::string& what);

}  // namespace nodepool::drivers::azure
