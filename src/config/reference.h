#pragma once

#include <string>
#include <string_view>

#include "config/schema.h"

namespace nodepool::config {

// The reference of a section for the manual, in Markdown: its description and a table (key, type,
// default, meaning), then the same for every nested section. `path` is the section's name in
// headings, e.g. "providers[]"; empty for the top level. `heading_level` is the number of `#`.
std::string reference_markdown(const Schema& schema, std::string_view path, int heading_level = 2);

}  // namespace nodepool::config
