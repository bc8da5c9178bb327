#pragma once

#include <memory>
#include <string>

#include "async/thread_pool.h"
#include "http/request.h"

namespace nodepool::http {

// A body that streams a file, with its current size. The file is read on `threads`, which outlive
// it. Throws std::system_error, also while it is read.
async::Task<std::shared_ptr<const StreamedBody>> file_body(async::ThreadPool& threads,
                                                           std::string path);

}  // namespace nodepool::http
