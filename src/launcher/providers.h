#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "driver/driver.h"

namespace nodepool::launcher {

// The providers that are in service now, by name. A reload replaces entries; whoever works with a
// provider across a co_await keeps its own pointer.
using Providers = std::map<std::string, std::shared_ptr<driver::Provider>, std::less<>>;

}  // namespace nodepool::launcher
