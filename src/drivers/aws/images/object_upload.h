#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "driver/images.h"
#include "drivers/aws/api/s3.h"
#include "http/request.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// One image that becomes an object of S3, put there in parts. Parts that are there already, and
// have the file's content, are left as they are: so whoever finds them goes on.
class ObjectUpload {
 public:
  // All but the values outlive it. `metadata` is that of the upload.
  ObjectUpload(const async::Runtime& runtime, S3& s3, async::ThreadPool& threads,
               telemetry::Logger log, std::string key, driver::Metadata metadata);

  // Returns when the object is there, at once if it is already. Throws CloudError, what reading the
  // file throws, Cancelled.
  async::Task<> run(std::shared_ptr<const http::StreamedBody> body,
                    driver::ImageSupport::Progress progress);

 private:
  async::Task<bool> is_there(std::uint64_t size);
  async::Task<bool> find_or_begin(std::uint64_t size);
  async::Task<bool> find_begun();
  async::Task<> send(std::uint64_t index, std::string part);
  async::Task<> complete(std::uint64_t size);

  async::Runtime runtime_;
  S3& s3_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
  driver::Metadata metadata_;
  S3Upload upload_;
  std::map<std::int64_t, S3Part> parts_;  // that are there, by their number
};

}  // namespace nodepool::drivers::aws
