#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/table.h"

namespace nodepool::report {

// Which rows are wanted: for each column, by its key, the texts of which one has to be there.
using Filters = std::map<std::string, std::vector<std::string>, std::less<>>;

// The rows that all filters let through: whose value is one of the texts, or whose list has one of
// them. A column that the table does not have lets nothing through.
Table matching(const Table& table, const Filters& filters);

}  // namespace nodepool::report
