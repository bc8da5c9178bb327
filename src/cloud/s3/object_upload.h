#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/optional_permissions.h"
#include "cloud/s3/bucket.h"
#include "driver/images.h"
#include "http/request.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// Uploads one file to a bucket as a multipart upload. Resumes an interrupted upload: skips parts
// that exist with the same checksum. The permissions to list the bucket, its multipart uploads and
// their parts are optional: without them, it sends the file again.
class ObjectUpload {
 public:
  // The references outlive it. `tags`: of the object; may be empty.
  ObjectUpload(const async::Runtime& runtime, Bucket& bucket, async::ThreadPool& threads,
               OptionalPermissions& permissions, telemetry::Logger log, std::string key,
               driver::Metadata tags);

  // Returns when the object is complete; at once if it already is. Throws CloudError, the errors of
  // reading the file, and Cancelled. Deletes the parts of a failed upload: the caller starts anew.
  async::Task<> run(std::shared_ptr<const http::StreamedBody> body,
                    driver::ImageSupport::Progress progress);

 private:
  // Whether the bucket has the complete object.
  enum class Presence { present, absent, unknown };

  async::Task<> make(std::shared_ptr<const http::StreamedBody> body,
                     driver::ImageSupport::Progress progress);
  async::Task<Presence> presence(std::uint64_t size);
  async::Task<bool> find_or_begin(std::uint64_t size);
  async::Task<bool> find_begun();
  async::Task<> send(std::uint64_t index, std::string part);
  async::Task<> complete(std::uint64_t size);
  async::Task<> abort();

  async::Runtime runtime_;
  Bucket& bucket_;
  async::ThreadPool& threads_;
  OptionalPermissions& permissions_;
  telemetry::Logger log_;
  driver::Metadata tags_;
  S3Upload upload_;
  std::map<std::int64_t, S3Part> parts_;  // existing parts by number
};

}  // namespace nodepool::cloud
