#pragma once

#include <string>
#include <vector>

#include "cli/listing/listings.h"
#include "coordination/store.h"

namespace nodepool::cli {

using async::Task;

// The paths `/nodepool/images/<image>/builds/<build>/providers/<provider>` that exist.
Task<std::vector<std::string>> provider_build_paths(coordination::Store& store,
                                                    std::string provider);

// The ids of all uploads to the provider, sorted.
Task<ProviderUploads> provider_uploads(coordination::Store& store, std::string provider);

}  // namespace nodepool::cli
