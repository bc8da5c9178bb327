#pragma once

#include <string>

#include "cli/session.h"
#include "report/explanation/statement.h"

namespace nodepool::cli {

// Explains a request, node, lease, label or host by the records and the history of this host. With
// `online`, also queries the clouds. Throws std::runtime_error if there is no such subject.
Task<report::Explanation> explain_by_store(Session& session, std::string subject, bool online);

}  // namespace nodepool::cli
