#include "cloud/s3/bucket.h"

#include <fmt/format.h>

#include "cloud/base64.h"
#include "cloud/digest.h"
#include "cloud/outcome.h"
#include "cloud/pages.h"
#include "cloud/url_text.h"
#include "cloud/xml/xml_element.h"
#include "driver/cloud_error.h"
#include "driver/if_exists.h"

namespace nodepool::cloud {

using async::Task;
using driver::CloudError;

namespace {

constexpr std::size_t kMostTags = 10;
constexpr std::string_view kMark = "nodepool_";

std::string path_text(const std::string& key) {
  std::string text;
  for (std::size_t at = 0; at <= key.size();) {
    const std::size_t end = std::min(key.find('/', at), key.size());
    text += "/" + url_text(std::string_view(key).substr(at, end - at));
    at = end + 1;
  }
  return text;
}

std::uint64_t size_in(const XmlElement& element) {
  return static_cast<std::uint64_t>(element.optional_integer("Size").value_or(0));
}

std::string tagging(const driver::Metadata& tags) {
  std::string text;
  std::size_t count = 0;
  for (const bool is_mark : {true, false}) {
    for (const auto& [key, value] : tags) {
      if (key.starts_with(kMark) != is_mark || count == kMostTags) continue;
      ++count;
      if (!text.empty()) text += '&';
      text += url_text(key) + "=" + url_text(value);
    }
  }
  return text;
}

// The quotation marks of an etag need no escaping in XML.
std::string text_of(const std::vector<S3Part>& parts) {
  std::string text = R"(<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">)";
  for (const S3Part& part : parts) {
    text += "<Part>";
    if (!part.sha256.empty()) {
      text += fmt::format("<ChecksumSHA256>{}</ChecksumSHA256>", part.sha256);
    }
    text +=
        fmt::format("<ETag>{}</ETag><PartNumber>{}</PartNumber></Part>", part.etag, part.number);
  }
  return text + "</CompleteMultipartUpload>";
}

}  // namespace

BucketCall Bucket::call(std::string action, std::string method, const std::string& key,
                        const std::string& query) const {
  std::string path = path_text(name_);
  if (!key.empty()) path += path_text(key);
  if (!query.empty()) path += "?" + query;
  http::Precedence precedence = http::Precedence::creation;
  if (method == "DELETE") precedence = http::Precedence::removal;
  if (method == "GET") precedence = http::Precedence::read;
  return {.action = std::move(action),
          .about = key.empty() ? name_ : name_ + "/" + key,
          .precedence = precedence,
          .method = std::move(method),
          .path = std::move(path)};
}

Task<std::string> Bucket::location() {
  BucketCall get = call("GetBucketLocation", "GET", "", "location=");
  const http::Response response = co_await send_(std::move(get));
  co_return XmlElement::parse("s3: GetBucketLocation", response.body).own_text();
}

Task<std::string> Bucket::begin(std::string key, driver::Metadata tags) {
  BucketCall begin = call("CreateMultipartUpload", "POST", key, "uploads=");
  if (check_ == PartCheck::sha256) {
    begin.headers.emplace_back("X-Amz-Checksum-Algorithm", "SHA256");
  }
  if (!tags.empty()) begin.headers.emplace_back("X-Amz-Tagging", tagging(tags));
  begin.creates = true;
  const http::Response response = co_await send_(std::move(begin));
  co_return read_outcome(true, [&response] {
    return XmlElement::parse("s3: CreateMultipartUpload", response.body).text("UploadId");
  });
}

std::string Bucket::digest(std::string_view data) const {
  return check_ == PartCheck::sha256 ? sha256(data) : md5(data);
}

bool Bucket::is_same(const S3Part& part, std::size_t size, const std::string& digest) const {
  const bool is_known = check_ == PartCheck::sha256 ? part.sha256 == base64(digest)
                                                    : part.etag == '"' + hexadecimal(digest) + '"';
  return is_known && part.size == size;
}

Task<S3Part> Bucket::put_part(S3Upload upload, std::int64_t number, std::string data,
                              std::string digest) {
  S3Part part{.number = number, .etag = {}, .size = data.size(), .sha256 = {}};
  BucketCall put = call("UploadPart", "PUT", upload.key,
                        fmt::format("partNumber={}&uploadId={}", number, url_text(upload.id)));
  put.headers = {{"Content-Type", "application/octet-stream"}};
  if (check_ == PartCheck::sha256) {
    part.sha256 = base64(digest);
    put.headers.emplace_back("X-Amz-Checksum-Sha256", part.sha256);
    put.body_hash = hexadecimal(digest);
  } else {
    put.headers.emplace_back("Content-MD5", base64(digest));
  }
  put.body = std::move(data);
  const http::Response response = co_await send_(std::move(put));
  part.etag = response.header("etag");
  if (part.etag.empty()) {
    throw CloudError(CloudError::Kind::transient, "s3: UploadPart: the response has no ETag");
  }
  co_return part;
}

Task<std::vector<S3Part>> Bucket::parts(S3Upload upload) {
  const std::string name = "s3: ListParts";
  std::vector<S3Part> found;
  Pages pages(name);
  while (true) {
    std::string query;
    if (!pages.next().empty()) query = "part-number-marker=" + pages.next() + "&";
    query += "uploadId=" + url_text(upload.id);
    BucketCall list = call("ListParts", "GET", upload.key, query);
    const http::Response response = co_await send_(std::move(list));
    const XmlElement answer = XmlElement::parse(name, response.body);
    for (const XmlElement& part : answer.all("Part")) {
      found.push_back({.number = part.integer("PartNumber"),
                       .etag = part.text("ETag"),
                       .size = size_in(part),
                       .sha256 = part.text_or("ChecksumSHA256")});
    }
    const bool is_cut = answer.boolean_or("IsTruncated", false);
    std::string next = is_cut ? answer.text("NextPartNumberMarker") : "";
    if (!pages.turn(std::move(next), response.body.size(), found.size())) co_return found;
  }
}

Task<> Bucket::complete(S3Upload upload, std::vector<S3Part> parts) {
  BucketCall complete =
      call("CompleteMultipartUpload", "POST", upload.key, "uploadId=" + url_text(upload.id));
  complete.headers = {{"Content-Type", "application/xml"}};
  complete.body = text_of(parts);
  complete.may_fail_late = true;
  const http::Response response = co_await send_(std::move(complete));
  read_outcome(false, [&response] {
    return XmlElement::parse("s3: CompleteMultipartUpload", response.body).text("ETag");
  });
}

Task<> Bucket::abort(S3Upload upload) {
  BucketCall abort =
      call("AbortMultipartUpload", "DELETE", upload.key, "uploadId=" + url_text(upload.id));
  co_await driver::if_exists(send_(std::move(abort)));
}

Task<std::vector<S3Upload>> Bucket::uploads(std::string prefix) {
  const std::string name = "s3: ListMultipartUploads";
  std::vector<S3Upload> found;
  Pages pages(name);
  while (true) {
    std::string query = pages.next();
    if (!prefix.empty()) query += "prefix=" + url_text(prefix) + "&";
    query += "uploads=";
    BucketCall list = call("ListMultipartUploads", "GET", "", query);
    const http::Response response = co_await send_(std::move(list));
    const XmlElement answer = XmlElement::parse(name, response.body);
    for (const XmlElement& upload : answer.all("Upload")) {
      found.push_back({.key = upload.text("Key"), .id = upload.text("UploadId")});
    }
    const bool is_cut = answer.boolean_or("IsTruncated", false);
    std::string next;
    if (is_cut) {
      next =
          fmt::format("key-marker={}&upload-id-marker={}&", url_text(answer.text("NextKeyMarker")),
                      url_text(answer.text_or("NextUploadIdMarker")));
    }
    if (!pages.turn(std::move(next), response.body.size(), found.size())) co_return found;
  }
}

Task<std::vector<S3Object>> Bucket::objects(std::string prefix) {
  const std::string name = "s3: ListObjectsV2";
  std::vector<S3Object> found;
  Pages pages(name);
  while (true) {
    std::string query;
    if (!pages.next().empty()) {
      query = "continuation-token=" + url_text(pages.next()) + "&";
    }
    query += "list-type=2";
    if (!prefix.empty()) query += "&prefix=" + url_text(prefix);
    BucketCall list = call("ListObjectsV2", "GET", "", query);
    const http::Response response = co_await send_(std::move(list));
    const XmlElement answer = XmlElement::parse(name, response.body);
    for (const XmlElement& object : answer.all("Contents")) {
      found.push_back(
          {.key = object.text("Key"), .etag = object.text_or("ETag"), .size = size_in(object)});
    }
    const bool is_cut = answer.boolean_or("IsTruncated", false);
    std::string next = is_cut ? answer.text("NextContinuationToken") : "";
    if (!pages.turn(std::move(next), response.body.size(), found.size())) co_return found;
  }
}

Task<driver::Metadata> Bucket::tags(std::string key) {
  BucketCall get = call("GetObjectTagging", "GET", key, "tagging=");
  const http::Response response = co_await send_(std::move(get));
  const XmlElement answer = XmlElement::parse("s3: GetObjectTagging", response.body);
  driver::Metadata tags;
  for (const XmlElement& tag : answer.child("TagSet").all("Tag")) {
    tags[tag.text_or("Key")] = tag.text_or("Value");
  }
  co_return tags;
}

Task<> Bucket::remove(std::string key) {
  BucketCall remove = call("DeleteObject", "DELETE", key, "");
  co_await driver::if_exists(send_(std::move(remove)));
}

}  // namespace nodepool::cloud
