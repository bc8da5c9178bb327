#pragma once

#include "driver/driver.h"

namespace nodepool::drivers {

// All drivers of this release. To add one, add a folder beside this file and a line to registry.cc.
driver::DriverRegistry all_drivers();

}  // namespace nodepool::drivers
