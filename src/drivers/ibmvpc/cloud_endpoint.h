#pragma once

#include "cloud/rest/token_endpoint.h"
#include "drivers/ibmvpc/api/iam_tokens.h"
#include "drivers/ibmvpc/api/vpc_api.h"
#include "drivers/ibmvpc/cloud_view.h"
#include "drivers/ibmvpc/config/ibmvpc_config.h"
#include "http/rate_governor.h"

namespace nodepool::drivers::ibmvpc {

// A region of an account.
using CloudEndpoint =
    cloud::TokenEndpoint<VpcAccount, http::RateGovernor, IamTokens, VpcApi, CloudView>;

}  // namespace nodepool::drivers::ibmvpc
