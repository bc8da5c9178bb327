#pragma once

#include <map>
#include <memory>
#include <string>

#include "driver/driver.h"

namespace nodepool::builder {

// The started providers with image support, by name. A reload replaces entries: keep your own
// pointers across a co_await. The provider is not stopped before they are gone.
using ImageProviders = std::map<std::string, std::shared_ptr<driver::Provider>, std::less<>>;

}  // namespace nodepool::builder
