#pragma once

#include "driver/driver.h"

namespace nodepool::drivers {

// All drivers of this release. A new one is a folder beside this file and a line in registry.cc.
driver::DriverRegistry all_drivers();

}  // namespace nodepool::drivers
