#pragma once

#include <memory>

#include "async/runtime.h"
#include "config/config.h"
#include "coordination/store.h"

namespace nodepool::program {

// Opens the store that the configuration has chosen. Throws StoreError, or std::runtime_error if
// this release does not have that kind.
async::Task<std::unique_ptr<coordination::Store>> open_store(async::Runtime runtime,
                                                             config::StoreChoice choice);

}  // namespace nodepool::program
