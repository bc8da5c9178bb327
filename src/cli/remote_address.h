#pragma once

#include <optional>

#include "cli/arguments.h"
#include "cli/context.h"
#include "remote/remote_installation.h"

namespace nodepool::cli {

// The API chosen by the arguments or the environment; nothing: the store. Throws std::runtime_error
// if the token cannot be read.
std::optional<remote::ApiAddress> remote_address(const Context& context,
                                                 const Arguments& arguments);

}  // namespace nodepool::cli
