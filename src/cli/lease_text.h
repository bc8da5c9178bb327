#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/context.h"
#include "cli/lease_files.h"
#include "requestor/lease.h"

// The output of `request`.
namespace nodepool::cli {

// {"lease": …, "expires": …, "nodes": [{"id": …, "label": …, the record's own keys}]}. A label for
// each node.
std::string lease_json(const requestor::LeasedNodes& leased,
                       const std::vector<std::string>& labels);

// Writes the files of the lease, then prints it: Context::out shows whether that has failed. Throws
// std::system_error if the files cannot be written.
void print_lease(Context& context, const requestor::LeasedNodes& leased,
                 const RequestNodes& command, LeaseFiles& files);

// Prints when the lease expires now. Warns if that is earlier than `before`, in seconds since the
// epoch: the length counts from now.
void print_renewal(Context& context, const model::Lease& lease, double before);

}  // namespace nodepool::cli
