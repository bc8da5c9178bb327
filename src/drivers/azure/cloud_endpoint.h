#pragma once

#include "cloud/rest/token_endpoint.h"
#include "drivers/azure/api/arm_rate_limit.h"
#include "drivers/azure/api/arm_tokens.h"
#include "drivers/azure/api/resource_manager.h"
#include "drivers/azure/cloud_view.h"
#include "drivers/azure/config/azure_config.h"

namespace nodepool::drivers::azure {

// A resource group.
using CloudEndpoint =
    cloud::TokenEndpoint<AzureAccount, ArmRateLimit, ArmTokens, ResourceManager, CloudView>;

}  // namespace nodepool::drivers::azure
