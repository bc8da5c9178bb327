#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/images.h"
#include "drivers/aws/api/caller.h"

namespace nodepool::drivers::aws {

// An object as the bucket lists it.
struct S3Object {
  std::string key;
  std::string etag;  // another one when its content is
  std::uint64_t size = 0;
};

// A part of an object that is being put there in parts.
struct S3Part {
  std::int64_t number = 0;  // from 1 on
  std::string etag;
  std::uint64_t size = 0;
  std::string sha256;  // base64; empty: S3 does not say
};

// An upload in parts that has not been completed.
struct S3Upload {
  std::string key;
  std::string id;
};

// One bucket of S3. All functions throw CloudError. Reference: Amazon S3 API.
class S3 {
 public:
  // Of one object.
  static constexpr std::uint64_t kMostParts = 10'000;
  // Of each part but the last.
  static constexpr std::uint64_t kLeastPart = std::uint64_t{5} << 20;  // bytes

  S3(Caller& caller, std::string bucket) : caller_(caller), bucket_(std::move(bucket)) {}

  const std::string& bucket() const { return bucket_; }

  // Begins an upload in parts, and returns its id. The object gets ten of the tags, which is all
  // that S3 takes: those that say whose it is first.
  async::Task<std::string> begin(std::string key, driver::Metadata tags);
  // `hash`: sha256() of the data, which S3 holds it against.
  async::Task<S3Part> put_part(S3Upload upload, std::int64_t number, std::string data,
                               std::string hash);
  async::Task<std::vector<S3Part>> parts(S3Upload upload);
  // Makes the object of its parts, which are in order.
  async::Task<> complete(S3Upload upload, std::vector<S3Part> parts);
  // Returns at once if it is not there.
  async::Task<> abort(S3Upload upload);

  // Whose keys begin so.
  async::Task<std::vector<S3Upload>> uploads(std::string prefix);
  async::Task<std::vector<S3Object>> objects(std::string prefix);
  async::Task<driver::Metadata> tags(std::string key);
  // Returns at once if it is not there.
  async::Task<> remove(std::string key);

 private:
  Call call(std::string action, std::string method, const std::string& key,
            const std::string& query) const;

  Caller& caller_;
  std::string bucket_;
};

}  // namespace nodepool::drivers::aws
