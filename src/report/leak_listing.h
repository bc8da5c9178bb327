#pragma once

#include <string>

#include "driver/driver.h"
#include "report/table.h"

namespace nodepool::report {

// Leaked resources: the columns, and a row.
Table leak_columns();
void add_leak(Table& table, const std::string& provider, const driver::Leak& leak);

}  // namespace nodepool::report
