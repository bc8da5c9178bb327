#pragma once

#include "cloud/rest/token_endpoint.h"
#include "drivers/gce/api/access_tokens.h"
#include "drivers/gce/api/compute_engine.h"
#include "drivers/gce/cloud_view.h"
#include "drivers/gce/config/gce_config.h"
#include "drivers/gce/pausing_rate_limit.h"

namespace nodepool::drivers::gce {

// A zone of a project.
using CloudEndpoint =
    cloud::TokenEndpoint<Account, PausingRateLimit, AccessTokens, ComputeEngine, CloudView>;

}  // namespace nodepool::drivers::gce
