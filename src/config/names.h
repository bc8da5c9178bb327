#pragma once

#include <string_view>

namespace nodepool::config {

// Whether a name can be a component of a path of a file or a record: not empty, `.` or `..`, no
// slash and no control characters.
bool is_part_of_path(std::string_view name);

}  // namespace nodepool::config
