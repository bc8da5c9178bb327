#pragma once

#include <memory>
#include <string>

#include "async/thread_pool.h"
#include "http/request.h"

namespace nodepool::http {

// The content of a file, as large as it is now, to be sent without being held in memory. It is read
// on `threads`, which outlive it. Throws std::system_error, as reading it does.
async::Task<std::shared_ptr<const StreamedBody>> file_body(async::ThreadPool& threads,
                                                           std::string path);

}  // namespace nodepool::http
