#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "requestor/request.h"

namespace nodepool::cli {

struct Answer {
  requestor::Result result;
  std::string reason;  // why the request waited last; empty: unknown, or it did not wait
};

// Requests nodes and waits for the result. Meanwhile it prints why the request waits, a hint if no
// pool offers the labels, and a status line on the terminal. Throws as requestor::await_result().
Task<Answer> request_and_wait(Session& session, std::vector<std::string> labels,
                              async::Duration timeout);

// Why there are no nodes: one line, and one for each pool that declined, or the last reason to
// wait.
std::string explain(const Answer& answer);

}  // namespace nodepool::cli
