#pragma once

#include <string>

#include "cloud/s3/bucket.h"
#include "drivers/aws/api/caller.h"

namespace nodepool::drivers::aws {

// A bucket of S3. `caller` outlives it.
cloud::Bucket s3_bucket(Caller& caller, std::string name);

}  // namespace nodepool::drivers::aws
