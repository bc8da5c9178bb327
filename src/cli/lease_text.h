#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/lease_files.h"
#include "cli/node_access.h"
#include "requestor/lease.h"

// What `request` prints of the lease that it has got.
namespace nodepool::cli {

// The exit status of `request` without nodes: nobody has them, or not in time.
inline constexpr int kNoNodes = 2;
inline constexpr int kTimedOut = 3;

// {"lease": …, "expires": …, "nodes": [{"id": …, "label": …, the record's own keys}]}
std::string lease_json(const requestor::LeasedNodes& leased,
                       const std::vector<std::string>& labels);

// For people: how to reach the nodes, and what to do with the lease.
std::string lease_text(const requestor::LeasedNodes& leased, const std::vector<NodeAccess>& nodes,
                       const LeaseFiles& files);

// Prints until when the lease lasts now. Warns if that is earlier than before: it counts from now,
// which who has got a long lease may not expect. `before`: seconds since the epoch.
void print_renewal(Context& context, const model::Lease& lease, double before);

}  // namespace nodepool::cli
