#pragma once

#include <string_view>

namespace nodepool::config {

// Whether a name can be a part of paths, of files and of records: it is not empty, `.` or `..`, and
// has no slash and no control characters.
bool is_part_of_path(std::string_view name);

}  // namespace nodepool::config
