#pragma once

#include <map>
#include <memory>
#include <string>

#include "driver/driver.h"
#include "launcher/provider_quota.h"
#include "launcher/reconciler.h"

namespace nodepool::launcher {

struct ProviderInService {
  std::shared_ptr<driver::Provider> provider;
  std::shared_ptr<ProviderQuota> quota;
  std::shared_ptr<Reconciler> reconciler;
};

// The started providers by name. A reload replaces entries: keep your own pointers across a
// co_await.
using Providers = std::map<std::string, ProviderInService, std::less<>>;

}  // namespace nodepool::launcher
