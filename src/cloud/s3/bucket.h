#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/images.h"
#include "http/rate_limit.h"
#include "http/request.h"

namespace nodepool::cloud {

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

// One call of the protocol.
struct BucketCall {
  std::string action;  // "ListParts"
  std::string about;   // bucket, or bucket and key, for messages
  http::Precedence precedence = http::Precedence::read;
  std::string method;
  std::string path;  // with the query: "/bucket/key?uploadId=1"
  http::Headers headers = {};
  std::string body = {};
  std::string body_hash = {};  // sha256_hex() of the body; empty: not computed yet
  bool creates = false;        // whether a repeated call would create a duplicate
  bool may_fail_late = false;  // whether a response with a status of success may be an error
};

// How parts are verified.
enum class PartCheck {
  sha256,  // by AWS's checksums
  md5,     // Content-MD5 and ETag, for clouds that do not have these
};

// One bucket of object storage with S3's protocol. All functions throw CloudError. Source: Amazon
// S3 API.
class Bucket {
 public:
  // Makes a call with credentials, and returns the response if it is a success: for
  // `may_fail_late`, also according to its body. Throws CloudError.
  using Send = std::function<async::Task<http::Response>(BucketCall call)>;

  // Maximum number of parts of one object.
  static constexpr std::uint64_t kMaxParts = 10'000;
  // Minimum size of all parts except the last.
  static constexpr std::uint64_t kMinPartSize = std::uint64_t{5} << 20;  // bytes

  Bucket(Send send, std::string name, PartCheck check)
      : send_(std::move(send)), name_(std::move(name)), check_(check) {}

  const std::string& name() const { return name_; }

  // The bucket's location constraint, such as "eu-central-1" or "us-south-standard".
  async::Task<std::string> location();

  // Begins a multipart upload, and returns its id. S3 accepts ten tags: the object gets the owner
  // tags first.
  async::Task<std::string> begin(std::string key, driver::Metadata tags);
  // The hash of a part for the next two functions.
  std::string digest(std::string_view data) const;
  // The cloud verifies the digest.
  async::Task<S3Part> put_part(S3Upload upload, std::int64_t number, std::string data,
                               std::string digest);
  // Whether the part has this size and digest. False if its digest is unknown.
  bool is_same(const S3Part& part, std::size_t size, const std::string& digest) const;
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
  BucketCall call(std::string action, std::string method, const std::string& key,
                  const std::string& query) const;

  Send send_;
  std::string name_;
  PartCheck check_;
};

}  // namespace nodepool::cloud
