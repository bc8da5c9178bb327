#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/problem.h"
#include "config/schema.h"

namespace nodepool::config {

// The strict check of a whole file, for `nodepool config-validate`: all problems, in the order of
// the lines. Stricter than load(): a file that the daemons accept with a warning has problems here.
// `file` is for messages. Throws nothing: invalid YAML is reported as the only problem.
std::vector<Problem> validate(std::string_view text, std::string_view file,
                              const Environment& environment, const DriverSchemas& drivers);

// Warnings for labels that no provider of the file offers: another launcher may offer them. Empty
// without providers. The file must have no problems. Throws ConfigError.
std::vector<Problem> unserved_labels(std::string_view text, std::string_view file,
                                     const Environment& environment, const DriverSchemas& drivers);

// Warnings for files of `zookeeper-tls` that do not exist on this host. As for load(), those of the
// secure file precede the main file's. Throws ConfigError.
std::vector<Problem> absent_certificates(const std::string& path,
                                         const std::optional<std::string>& secure_path,
                                         const Environment& environment);

// Like validate(), with the content of a file. An unreadable file is reported as a problem.
std::vector<Problem> validate_file(const std::string& path, const Environment& environment,
                                   const DriverSchemas& drivers);

}  // namespace nodepool::config
