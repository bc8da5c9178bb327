#pragma once

#include <optional>
#include <string>

#include "config/environment.h"
#include "drivers/aws/account/account.h"

namespace nodepool::drivers::aws {

// Finds the account for the provider's `profile-name` and `region-name`, in the order of AWS's SDK
// for Python: the environment (unless a profile is configured), the profile's role, web identity,
// the profile's keys or program, the container, the instance. Reads files, but makes no calls.
// Throws AccountError, without secrets.
Account find_account(const std::optional<std::string>& profile,
                     const std::optional<std::string>& region,
                     const config::Environment& environment);

}  // namespace nodepool::drivers::aws
