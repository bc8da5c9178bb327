#pragma once

#include <optional>
#include <string_view>

#include "config/value.h"

namespace nodepool::config {

// The value of an unquoted scalar in YAML 1.1, by the patterns of PyYAML's resolver.
Value resolve_plain_scalar(std::string_view text, Mark mark = {});

// A scalar with an explicit core tag (`!!int`, `!!str`, ...), given without its
// "tag:yaml.org,2002:" prefix. Returns nothing for an unknown tag or a text that does not fit it.
std::optional<Value> resolve_tagged_scalar(std::string_view tag, std::string_view text, Mark mark);

}  // namespace nodepool::config
