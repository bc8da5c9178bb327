#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/images.h"
#include "drivers/aws/api/caller.h"

namespace nodepool::drivers::aws {

// An object in the bucket's listing.
struct S3Object {
  std::string key;
  std::string etag;  // changes with the content
  std::uint64_t size = 0;
};

// A part of a multipart upload.
struct S3Part {
  std::int64_t number = 0;  // from 1
  std::string etag;
  std::uint64_t size = 0;
  std::string sha256;  // base64; empty: unknown
};

// A multipart upload that has not been completed.
struct S3Upload {
  std::string key;
  std::string id;
};

// One bucket of S3. All functions throw CloudError. Source: Amazon S3 API.
class S3 {
 public:
  // Maximum number of parts of one object.
  static constexpr std::uint64_t kMaxParts = 10'000;
  // Minimum size of all parts except the last.
  static constexpr std::uint64_t kMinPartSize = std::uint64_t{5} << 20;  // bytes

  S3(Caller& caller, std::string bucket) : caller_(caller), bucket_(std::move(bucket)) {}

  const std::string& bucket() const { return bucket_; }

  // Begins a multipart upload, and returns its id. S3 accepts ten tags: the object gets the owner
  // tags first.
  async::Task<std::string> begin(std::string key, driver::Metadata tags);
  // `hash`: sha256() of the data, which S3 verifies.
  async::Task<S3Part> put_part(S3Upload upload, std::int64_t number, std::string data,
                               std::string hash);
  async::Task<std::vector<S3Part>> parts(S3Upload upload);
  // Completes the object. `parts` are in order.
  async::Task<> complete(S3Upload upload, std::vector<S3Part> parts);
  // Succeeds if the upload does not exist.
  async::Task<> abort(S3Upload upload);

  // Multipart uploads and objects whose keys have this prefix.
  async::Task<std::vector<S3Upload>> uploads(std::string prefix);
  async::Task<std::vector<S3Object>> objects(std::string prefix);
  async::Task<driver::Metadata> tags(std::string key);
  // Succeeds if the object does not exist.
  async::Task<> remove(std::string key);

 private:
  Call call(std::string action, std::string method, const std::string& key,
            const std::string& query) const;

  Caller& caller_;
  std::string bucket_;
};

}  // namespace nodepool::drivers::aws
