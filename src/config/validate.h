#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/problem.h"
#include "config/schema.h"

namespace nodepool::config {

// The strict check of a whole file, for `nodepool config-validate`: everything that is wrong with
// it, in the order of its lines; empty if nothing is. Stricter than load(): a file that the daemons
// accept with a warning has problems here. `file` is for messages. Throws nothing: YAML that cannot
// be parsed is a problem, the only one.
std::vector<Problem> validate(std::string_view text, std::string_view file,
                              const Environment& environment, const DriverSchemas& drivers);

// Labels that no provider of a file without problems has: that is accepted, because another
// launcher may have them. Nothing without providers. Throws ConfigError.
std::vector<Problem> unserved_labels(std::string_view text, std::string_view file,
                                     const Environment& environment, const DriverSchemas& drivers);

// As validate(), for a file to be read; one that cannot be read is a problem.
std::vector<Problem> validate_file(const std::string& path, const Environment& environment,
                                   const DriverSchemas& drivers);

}  // namespace nodepool::config
