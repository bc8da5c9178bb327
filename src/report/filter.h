#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/table.h"

namespace nodepool::report {

// Column key -> the accepted values.
using Filters = std::map<std::string, std::vector<std::string>, std::less<>>;

// The rows that match all filters. A cell matches if its value, or an item of its list, is
// accepted. A filter on a missing column matches no row.
Table matching(const Table& table, const Filters& filters);

}  // namespace nodepool::report
