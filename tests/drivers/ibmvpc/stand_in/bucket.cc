#include "tests/drivers/ibmvpc/stand_in/bucket.h"

#include <fmt/format.h>

#include <algorithm>

#include "cloud/base64.h"
#include "cloud/digest.h"

namespace nodepool::drivers::ibmvpc {

namespace {

using Reply = BucketStandIn::Reply;

constexpr std::size_t kMinPartSize = std::size_t{5} << 20;

struct Target {
  std::string key;  // empty: the bucket itself
  std::map<std::string, std::string> query;

  std::string value(const std::string& name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::string() : found->second;
  }
};

Target target_of(const http::HttpServer::Call& call) {
  const std::size_t mark = std::min(call.target.find('?'), call.target.size());
  const std::string path = call.target.substr(0, mark);
  const std::size_t slash = path.find('/', 1);
  Target target;
  if (slash != std::string::npos) target.key = path.substr(slash + 1);
  for (std::size_t at = mark + 1; at < call.target.size();) {
    const std::size_t end = std::min(call.target.find('&', at), call.target.size());
    const std::string pair = call.target.substr(at, end - at);
    target.query[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
    at = end + 1;
  }
  return target;
}

std::string header_of(const http::HttpServer::Call& call, const char* name) {
  const auto found = std::ranges::find(call.headers, name, &http::Headers::value_type::first);
  return found == call.headers.end() ? std::string() : found->second;
}

Reply refusal(int status, const std::string& code) {
  return {status, fmt::format("<Error><Code>{0}</Code><Message>{0}</Message></Error>", code)};
}

}  // namespace

bool BucketStandIn::is_call(const http::HttpServer::Call& call) {
  return call.target.starts_with(std::string("/") + kName);
}

std::string BucketStandIn::action(const http::HttpServer::Call& call) {
  const Target target = target_of(call);
  const auto has = [&target](const char* name) { return target.query.contains(name); };
  if (call.method == "PUT") return "UploadPart";
  if (call.method == "POST") {
    return has("uploads") ? "CreateMultipartUpload" : "CompleteMultipartUpload";
  }
  if (call.method == "DELETE") return has("uploadId") ? "AbortMultipartUpload" : "DeleteObject";
  if (has("location")) return "GetBucketLocation";
  if (has("uploads")) return "ListMultipartUploads";
  return has("uploadId") ? "ListParts" : "ListObjectsV2";
}

Reply BucketStandIn::serve(const http::HttpServer::Call& call) {
  const Target target = target_of(call);
  const std::string doing = action(call);
  const std::string id = target.value("uploadId");
  if (!id.empty() && !uploads.contains(id)) return refusal(404, "NoSuchUpload");
  if (doing == "GetBucketLocation") {
    return {200, "<LocationConstraint>north-2-standard</LocationConstraint>"};
  }
  if (doing == "CreateMultipartUpload") {
    const std::string made = fmt::format("u{}", ++last_id_);
    uploads[made] = {.key = target.key, .parts = {}};
    return {200, fmt::format("<R><UploadId>{}</UploadId></R>", made)};
  }
  if (doing == "UploadPart") return put(uploads[id], std::stoi(target.value("partNumber")), call);
  if (doing == "CompleteMultipartUpload") return complete(id, call.body);
  if (doing == "ListParts") return list_parts(uploads[id]);
  if (doing == "ListMultipartUploads") return list_uploads(target.value("prefix"));
  if (doing == "ListObjectsV2") return list_objects(target.value("prefix"));
  if (doing == "AbortMultipartUpload") uploads.erase(id);
  if (doing == "DeleteObject") objects.erase(target.key);
  return {204};
}

Reply BucketStandIn::put(Upload& upload, int number, const http::HttpServer::Call& call) {
  const std::string digest = cloud::md5(call.body);
  if (header_of(call, "content-md5") != cloud::base64(digest)) return refusal(400, "BadDigest");
  Part& part = upload.parts[number];
  part = {.size = call.body.size(), .md5 = cloud::hexadecimal(digest), .times = part.times + 1};
  return {200, "", "ETag: \"" + part.md5 + "\"\r\n"};
}

Reply BucketStandIn::complete(const std::string& id, const std::string& body) {
  const Upload& done = uploads[id];
  std::size_t size = 0;
  for (const auto& [number, part] : done.parts) {
    const bool is_last = number == done.parts.rbegin()->first;
    if (!is_last && part.size < kMinPartSize) return refusal(400, "EntityTooSmall");
    const std::string listed = fmt::format(
        R"(<Part><ETag>"{}"</ETag><PartNumber>{}</PartNumber></Part>)", part.md5, number);
    if (!body.contains(listed)) return refusal(400, "InvalidPart");
    size += part.size;
  }
  objects[done.key] = size;
  uploads.erase(id);
  return {200, "<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>"};
}

Reply BucketStandIn::list_parts(const Upload& upload) const {
  std::string items;
  for (const auto& [number, part] : upload.parts) {
    items +=
        fmt::format(R"(<Part><PartNumber>{}</PartNumber><ETag>"{}"</ETag><Size>{}</Size></Part>)",
                    number, part.md5, part.size);
  }
  return {200, "<R>" + items + "</R>"};
}

Reply BucketStandIn::list_uploads(const std::string& prefix) const {
  std::string items;
  for (const auto& [id, upload] : uploads) {
    if (!upload.key.starts_with(prefix)) continue;
    items += fmt::format("<Upload><Key>{}</Key><UploadId>{}</UploadId></Upload>", upload.key, id);
  }
  return {200, "<R>" + items + "</R>"};
}

Reply BucketStandIn::list_objects(const std::string& prefix) const {
  std::string items;
  for (const auto& [key, size] : objects) {
    if (!key.starts_with(prefix)) continue;
    items += fmt::format("<Contents><Key>{}</Key><Size>{}</Size></Contents>", key, size);
  }
  return {200, "<R>" + items + "</R>"};
}

}  // namespace nodepool::drivers::ibmvpc
