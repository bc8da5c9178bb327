#pragma once

#include "cli/session.h"
#include "installation/installation.h"
#include "requestor/request.h"

namespace nodepool::cli {

// Creates a request in the store and waits for its result. `observer` gets the progress after each
// change, and on a terminal also after changes of the queue. Throws as requestor::request_nodes().
Task<requestor::Result> request_from_store(Session& session,
                                           installation::Installation::Request request,
                                           installation::Installation::Observer observer);

// The progress that the record shows.
installation::Installation::Progress progress_of(const model::NodeRequest& request);

}  // namespace nodepool::cli
