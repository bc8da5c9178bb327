#pragma once

#include <string>

#include "config/value.h"

namespace nodepool::config {

// The value as a YAML document in block style, with a newline at its end. Text that YAML 1.1 would
// read as something else is quoted: parse_yaml() returns an equal value. Comments are lost.
std::string yaml_text(const Value& value);

}  // namespace nodepool::config
