#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "requestor/request.h"

namespace nodepool::cli {

// Asks for nodes and waits for the answer. Meanwhile it keeps whoever watches informed: with a line
// on the terminal, and with a hint when no pool offers what is asked for. Throws as
// requestor::await_answer.
Task<requestor::Answer> request_and_wait(Session& session, std::vector<std::string> labels,
                                         async::Duration timeout);

// Why there are no nodes, for people: one line and one for each pool that declined.
std::string explain(const requestor::Answer& answer);

}  // namespace nodepool::cli
