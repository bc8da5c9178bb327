#include "drivers/aws/api/s3.h"

#include <fmt/format.h>

#include "cloud/base64.h"
#include "cloud/pages.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "drivers/aws/api/error_response.h"
#include "drivers/aws/api/outcome.h"
#include "drivers/aws/api/signature.h"
#include "drivers/aws/api/xml_element.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;

namespace {

constexpr std::size_t kMostTags = 10;
constexpr std::string_view kMark = "nodepool_";

std::string path_text(const std::string& key) {
  std::string text;
  for (std::size_t at = 0; at <= key.size();) {
    const std::size_t end = std::min(key.find('/', at), key.size());
    text += "/" + cloud::url_text(std::string_view(key).substr(at, end - at));
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
      text += cloud::url_text(key) + "=" + cloud::url_text(value);
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

Call S3::call(std::string action, std::string method, const std::string& key,
              const std::string& query) const {
  std::string path = path_text(bucket_);
  if (!key.empty()) path += path_text(key);
  if (!query.empty()) path += "?" + query;
  const bool is_removal = method == "DELETE";
  const bool is_look = method == "GET";
  http::Precedence precedence = http::Precedence::creation;
  if (is_removal) precedence = http::Precedence::removal;
  if (is_look) precedence = http::Precedence::read;
  return {.service = ServiceKind::s3,
          .action = std::move(action),
          .about = key.empty() ? bucket_ : bucket_ + "/" + key,
          .precedence = precedence,
          .method = std::move(method),
          .path = std::move(path)};
}

Task<std::string> S3::begin(std::string key, driver::Metadata tags) {
  Call begin = call("CreateMultipartUpload", "POST", key, "uploads=");
  begin.headers = {{"X-Amz-Checksum-Algorithm", "SHA256"}, {"X-Amz-Tagging", tagging(tags)}};
  begin.creates = true;
  const http::Response response = co_await caller_.send(std::move(begin));
  co_return read_outcome(true, [&response] {
    return XmlElement::parse("s3: CreateMultipartUpload", response.body).text("UploadId");
  });
}

Task<S3Part> S3::put_part(S3Upload upload, std::int64_t number, std::string data,
                          std::string hash) {
  S3Part part{.number = number, .etag = {}, .size = data.size(), .sha256 = cloud::base64(hash)};
  Call put = call("UploadPart", "PUT", upload.key,
                  fmt::format("partNumber={}&uploadId={}", number, cloud::url_text(upload.id)));
  put.headers = {{"Content-Type", "application/octet-stream"},
                 {"X-Amz-Checksum-Sha256", part.sha256}};
  put.body = std::move(data);
  put.body_hash = hexadecimal(hash);
  const http::Response response = co_await caller_.send(std::move(put));
  part.etag = response.header("etag");
  if (part.etag.empty()) {
    throw CloudError(CloudError::Kind::transient, "s3: UploadPart: the response has no ETag");
  }
  co_return part;
}

Task<std::vector<S3Part>> S3::parts(S3Upload upload) {
  const std::string name = "s3: ListParts";
  std::vector<S3Part> found;
  cloud::Pages pages(name);
  while (true) {
    std::string query;
    if (!pages.next().empty()) query = "part-number-marker=" + pages.next() + "&";
    query += "uploadId=" + cloud::url_text(upload.id);
    Call list = call("ListParts", "GET", upload.key, query);
    const http::Response response = co_await caller_.send(std::move(list));
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

// S3 may return an error with a status of success.
Task<> S3::complete(S3Upload upload, std::vector<S3Part> parts) {
  Call complete =
      call("CompleteMultipartUpload", "POST", upload.key, "uploadId=" + cloud::url_text(upload.id));
  complete.headers = {{"Content-Type", "application/xml"}};
  complete.body = text_of(parts);
  const http::Response response = co_await caller_.send(std::move(complete));
  const ErrorResponse refusal = error_in(response);
  if (refusal.code.empty()) {
    read_outcome(false, [&response] {
      return XmlElement::parse("s3: CompleteMultipartUpload", response.body).text("ETag");
    });
    co_return;
  }
  constexpr int kStatus = 500;  // the error occurred after the status had been sent
  throw to_cloud_error("s3: CompleteMultipartUpload " + upload.key, refusal, kStatus);
}

Task<> S3::abort(S3Upload upload) {
  Call abort =
      call("AbortMultipartUpload", "DELETE", upload.key, "uploadId=" + cloud::url_text(upload.id));
  try {
    co_await caller_.send(std::move(abort));
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::not_found) throw;
  }
}

Task<std::vector<S3Upload>> S3::uploads(std::string prefix) {
  const std::string name = "s3: ListMultipartUploads";
  std::vector<S3Upload> found;
  cloud::Pages pages(name);
  while (true) {
    std::string query = pages.next();
    if (!prefix.empty()) query += "prefix=" + cloud::url_text(prefix) + "&";
    query += "uploads=";
    Call list = call("ListMultipartUploads", "GET", "", query);
    const http::Response response = co_await caller_.send(std::move(list));
    const XmlElement answer = XmlElement::parse(name, response.body);
    for (const XmlElement& upload : answer.all("Upload")) {
      found.push_back({.key = upload.text("Key"), .id = upload.text("UploadId")});
    }
    const bool is_cut = answer.boolean_or("IsTruncated", false);
    std::string next;
    if (is_cut) {
      next = fmt::format("key-marker={}&upload-id-marker={}&",
                         cloud::url_text(answer.text("NextKeyMarker")),
                         cloud::url_text(answer.text_or("NextUploadIdMarker")));
    }
    if (!pages.turn(std::move(next), response.body.size(), found.size())) co_return found;
  }
}

Task<std::vector<S3Object>> S3::objects(std::string prefix) {
  const std::string name = "s3: ListObjectsV2";
  std::vector<S3Object> found;
  cloud::Pages pages(name);
  while (true) {
    std::string query;
    if (!pages.next().empty()) {
      query = "continuation-token=" + cloud::url_text(pages.next()) + "&";
    }
    query += "list-type=2";
    if (!prefix.empty()) query += "&prefix=" + cloud::url_text(prefix);
    Call list = call("ListObjectsV2", "GET", "", query);
    const http::Response response = co_await caller_.send(std::move(list));
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

Task<driver::Metadata> S3::tags(std::string key) {
  Call get = call("GetObjectTagging", "GET", key, "tagging=");
  const http::Response response = co_await caller_.send(std::move(get));
  const XmlElement answer = XmlElement::parse("s3: GetObjectTagging", response.body);
  driver::Metadata tags;
  for (const XmlElement& tag : answer.child("TagSet").all("Tag")) {
    tags[tag.text_or("Key")] = tag.text_or("Value");
  }
  co_return tags;
}

Task<> S3::remove(std::string key) {
  Call remove = call("DeleteObject", "DELETE", key, "");
  try {
    co_await caller_.send(std::move(remove));
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::not_found) throw;
  }
}

}  // namespace nodepool::drivers::aws
