#pragma once

#include <optional>
#include <string>

#include "config/environment.h"
#include "drivers/aws/account/account.h"

namespace nodepool::drivers::aws {

// The account that the provider's `profile-name` and `region-name` mean, in the order of AWS' own
// SDK for Python: the environment (unless a profile is named), the profile's role, web identity,
// the profile's sign-in, keys or program, the container's, the instance's. Reads files, calls
// nobody. Throws AccountError, without any secret.
Account find_account(const std::optional<std::string>& profile,
                     const std::optional<std::string>& region,
                     const config::Environment& environment);

}  // namespace nodepool::drivers::aws
