#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "requestor/request.h"

namespace nodepool::cli {

// Requests nodes and waits for the result. Meanwhile it shows a status line on the terminal, and
// prints a hint if no pool offers the labels. Throws as requestor::await_result().
Task<requestor::Result> request_and_wait(Session& session, std::vector<std::string> labels,
                                         async::Duration timeout);

// Why there are no nodes: one line, and one for each pool that declined.
std::string explain(const requestor::Result& answer);

}  // namespace nodepool::cli
