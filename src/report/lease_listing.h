#pragma once

#include <vector>

#include "model/lease.h"
#include "model/node.h"
#include "report/table.h"

namespace nodepool::report {

// Leases: the columns, and a row. `nodes` are held by the lease.
Table lease_columns();
void add_lease(Table& table, const model::Lease& lease, const std::vector<model::Node>& nodes);

}  // namespace nodepool::report
