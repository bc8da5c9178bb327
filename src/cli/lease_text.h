#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/lease_files.h"
#include "cli/node_access.h"
#include "requestor/lease.h"

// The output of `request`.
namespace nodepool::cli {

// The exit statuses of `request` without nodes: every pool declined, or it timed out.
inline constexpr int kNoNodes = 2;
inline constexpr int kTimedOut = 3;

// {"lease": …, "expires": …, "nodes": [{"id": …, "label": …, the record's own keys}]}
std::string lease_json(const requestor::LeasedNodes& leased,
                       const std::vector<std::string>& labels);

// For people: how to reach the nodes, renew the lease and release it.
std::string lease_text(const requestor::LeasedNodes& leased, const std::vector<NodeAccess>& nodes,
                       const LeaseFiles& files);

// Prints when the lease expires now. Warns if that is earlier than `before`, in seconds since the
// epoch: the length counts from now.
void print_renewal(Context& context, const model::Lease& lease, double before);

}  // namespace nodepool::cli
