#include "tests/drivers/aws/stand_in/image_services.h"

#include <fmt/format.h>

#include <algorithm>

#include "cloud/base64.h"
#include "cloud/digest.h"

namespace nodepool::drivers::aws {

namespace {

using Reply = ImageServices::Reply;

constexpr std::size_t kMinPartSize = std::size_t{5} << 20;

std::string decoded_text(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::map<std::string, std::string> parameters_of(const std::string& text) {
  std::map<std::string, std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('&', at), text.size());
    const std::string pair = text.substr(at, end - at);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    found[decoded_text(pair.substr(0, equals))] =
        decoded_text(pair.substr(std::min(equals + 1, pair.size())));
    at = end + 1;
  }
  return found;
}

struct Target {
  std::string key;  // empty: the bucket itself
  std::map<std::string, std::string> query;
  bool is_here = false;  // in the bucket
};

Target target_of(const http::HttpServer::Call& call) {
  const std::size_t mark = std::min(call.target.find('?'), call.target.size());
  const std::string path = call.target.substr(0, mark);
  const std::string base = std::string("/") + ImageServices::kBucket;
  Target target;
  target.is_here = path == base || path.starts_with(base + "/");
  if (path.size() > base.size() + 1) target.key = decoded_text(path.substr(base.size() + 1));
  if (mark < call.target.size()) target.query = parameters_of(call.target.substr(mark + 1));
  return target;
}

std::string header_of(const http::HttpServer::Call& call, const char* name) {
  const auto found = std::ranges::find(call.headers, name, &http::Headers::value_type::first);
  return found == call.headers.end() ? std::string() : found->second;
}

Reply s3_refusal(int status, const std::string& code) {
  return {status, fmt::format("<Error><Code>{0}</Code><Message>{0}</Message></Error>", code)};
}

Reply ec2_refusal(const std::string& code) {
  return {400, fmt::format("<Response><Errors><Error><Code>{0}</Code><Message>{0}</Message></Error>"
                           "</Errors></Response>",
                           code)};
}

std::string tags_text(const ImageServices::Tags& tags) {
  std::string items;
  for (const auto& [key, value] : tags) {
    items += fmt::format("<item><key>{}</key><value>{}</value></item>", key, value);
  }
  return "<tagSet>" + items + "</tagSet>";
}

}  // namespace

std::string ImageServices::action(const http::HttpServer::Call& call) {
  const Target target = target_of(call);
  const auto has = [&target](const char* name) { return target.query.contains(name); };
  if (call.method == "PUT") return "UploadPart";
  if (call.method == "POST")
    return has("uploads") ? "CreateMultipartUpload" : "CompleteMultipartUpload";
  if (call.method == "DELETE") return has("uploadId") ? "AbortMultipartUpload" : "DeleteObject";
  if (has("uploads")) return "ListMultipartUploads";
  if (has("uploadId")) return "ListParts";
  return has("tagging") ? "GetObjectTagging" : "ListObjectsV2";
}

Reply ImageServices::serve(const std::string& action, const http::HttpServer::Call& call) {
  const Target target = target_of(call);
  if (!target.is_here) return s3_refusal(404, "NoSuchBucket");
  if (header_of(call, "x-amz-content-sha256") != cloud::sha256_hex(call.body)) {
    return s3_refusal(400, "XAmzContentSHA256Mismatch");
  }
  const auto value = [&target](const char* name) {
    const auto found = target.query.find(name);
    return found == target.query.end() ? std::string() : found->second;
  };
  const std::string upload = value("uploadId");
  if (!upload.empty() && !uploads.contains(upload)) return s3_refusal(404, "NoSuchUpload");
  if (action == "CreateMultipartUpload") return begin(target.key, call);
  if (action == "UploadPart") return put(upload, value("partNumber"), call);
  if (action == "CompleteMultipartUpload") return complete(upload, call);
  if (action == "ListParts") return list_parts(upload);
  if (action == "ListMultipartUploads") return list_uploads(value("prefix"));
  if (action == "ListObjectsV2") return list_objects(value("prefix"));
  if (action == "AbortMultipartUpload") uploads.erase(upload);
  if (action == "DeleteObject") objects.erase(target.key);
  if (action != "GetObjectTagging") return {204, ""};
  const auto object = objects.find(target.key);
  if (object == objects.end()) return s3_refusal(404, "NoSuchKey");
  if (object->second.hides_tags) return s3_refusal(403, "AccessDenied");
  std::string items;
  for (const auto& [key, text] : object->second.tags) {
    items += fmt::format("<Tag><Key>{}</Key><Value>{}</Value></Tag>", key, text);
  }
  return {200, "<Tagging><TagSet>" + items + "</TagSet></Tagging>"};
}

Reply ImageServices::begin(const std::string& key, const http::HttpServer::Call& call) {
  const std::string id = new_id("upload");
  uploads[id] = {.key = key, .tags = parameters_of(header_of(call, "x-amz-tagging")), .parts = {}};
  if (uploads[id].tags.size() > 10) return s3_refusal(400, "BadRequest");
  return {200, fmt::format("<R><UploadId>{}</UploadId></R>", id)};
}

Reply ImageServices::put(const std::string& upload, const std::string& number,
                         const http::HttpServer::Call& call) {
  const std::string checksum = header_of(call, "x-amz-checksum-sha256");
  if (checksum != cloud::base64(cloud::sha256(call.body))) return s3_refusal(400, "BadDigest");
  Part& part = uploads[upload].parts[std::stoi(number)];
  part = {.size = call.body.size(), .sha256 = checksum, .times = part.times + 1};
  return {200, "", "ETag: \"" + number + "\"\r\n"};
}

Reply ImageServices::complete(const std::string& upload, const http::HttpServer::Call& call) {
  const Upload& done = uploads[upload];
  Object object{.size = 0, .tags = done.tags};
  for (const auto& [number, part] : done.parts) {
    const bool is_last = number == done.parts.rbegin()->first;
    if (!is_last && part.size < kMinPartSize) return s3_refusal(400, "EntityTooSmall");
    const std::string listed = fmt::format(
        "<Part><ChecksumSHA256>{}</ChecksumSHA256><ETag>\"{}\"</ETag><PartNumber>{}"
        "</PartNumber></Part>",
        part.sha256, number, number);
    if (!call.body.contains(listed)) return s3_refusal(400, "InvalidPart");
    object.size += part.size;
  }
  objects[done.key] = object;
  uploads.erase(upload);
  return {200, "<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>"};
}

Reply ImageServices::list_parts(const std::string& upload) const {
  std::string items;
  for (const auto& [number, part] : uploads.at(upload).parts) {
    items += fmt::format(
        "<Part><PartNumber>{}</PartNumber><ETag>\"{}\"</ETag><Size>{}</Size>"
        "<ChecksumSHA256>{}</ChecksumSHA256></Part>",
        number, number, part.size, part.sha256);
  }
  return {200, "<R><IsTruncated>false</IsTruncated>" + items + "</R>"};
}

Reply ImageServices::list_uploads(const std::string& prefix) const {
  std::string items;
  for (const auto& [id, upload] : uploads) {
    if (!upload.key.starts_with(prefix)) continue;
    items += fmt::format("<Upload><Key>{}</Key><UploadId>{}</UploadId></Upload>", upload.key, id);
  }
  return {200, "<R>" + items + "</R>"};
}

Reply ImageServices::list_objects(const std::string& prefix) const {
  std::string items;
  for (const auto& [key, object] : objects) {
    if (!key.starts_with(prefix)) continue;
    items += fmt::format("<Contents><Key>{}</Key><ETag>\"e\"</ETag><Size>{}</Size></Contents>", key,
                         object.size);
  }
  return {200, "<R>" + items + "</R>"};
}

Reply ImageServices::import(const std::string& action, const Parameters& query, const Tags& tags) {
  const auto value = [&query](const std::string& name) {
    const auto found = query.find(name);
    return found == query.end() ? std::string() : found->second;
  };
  if (action == "CancelImportTask") {
    const auto task = tasks.find(value("ImportTaskId"));
    if (task == tasks.end() || task->second.status != "active") {
      return ec2_refusal("InvalidConversionTaskId");
    }
    task->second.status = "deleted";
    return {200, "<R><return>true</return></R>"};
  }
  const bool is_image = action.contains("Image");
  if (action.starts_with("Describe")) return describe(is_image, value("ImportTaskId.1"));
  const std::string token = value("ClientToken");
  if (token.empty()) return ec2_refusal("MissingParameter");
  if (!tokens_.contains(token)) {
    const std::string container = is_image ? "DiskContainer.1." : "DiskContainer.";
    if (value(container + "UserBucket.S3Bucket") != kBucket) return ec2_refusal("InvalidParameter");
    const std::string id = new_id(is_image ? "import-ami" : "import-snap");
    tasks[id] = {.is_image = is_image,
                 .key = value(container + "UserBucket.S3Key"),
                 .format = value(container + "Format"),
                 .image = {},
                 .snapshot = {},
                 .tags = tags,
                 .made = runtime_.clock.now()};
    tokens_[token] = id;
  }
  return {200, fmt::format("<R><importTaskId>{}</importTaskId></R>", tokens_[token])};
}

void ImageServices::work_on(const std::string& id, Task& task) {
  if (task.status != "active" || runtime_.clock.now() < task.made + import_time) return;
  if (breaks_imports || !objects.contains(task.key)) {
    task.status = "deleted";
    return;
  }
  task.snapshot = new_id("snap-imported");
  snapshots_[task.snapshot] = {.name = {},
                               .snapshot = {},
                               .description = "Created by AWS-VMImport service for " + id,
                               .tags = {},
                               .blocks = {}};
  if (task.is_image) {
    task.image = new_id("ami-imported");
    images_[task.image] = {
        .name = id, .snapshot = task.snapshot, .description = {}, .tags = {}, .blocks = {}};
  }
  task.status = "completed";
}

Reply ImageServices::describe(bool is_image, const std::string& id) {
  if (!id.empty() && !tasks.contains(id)) return ec2_refusal("InvalidConversionTaskId.Malformed");
  std::string items;
  for (auto& [task_id, task] : tasks) {
    if (task.is_image != is_image || (!id.empty() && task_id != id)) continue;
    work_on(task_id, task);
    const std::string made =
        task.snapshot.empty() ? "" : fmt::format("<snapshotId>{}</snapshotId>", task.snapshot);
    const std::string state = fmt::format(
        "<status>{}</status><statusMessage>as the test wants it</statusMessage>", task.status);
    items += fmt::format(
        "<item><importTaskId>{}</importTaskId>{}{}</item>", task_id, tags_text(task.tags),
        is_image ? fmt::format("{}<imageId>{}</imageId><snapshotDetailSet><item>{}</item>"
                               "</snapshotDetailSet>",
                               state, task.image, made)
                 : fmt::format("<snapshotTaskDetail>{}{}</snapshotTaskDetail>", state, made));
  }
  return {200, fmt::format("<R><{0}>{1}</{0}></R>",
                           is_image ? "importImageTaskSet" : "importSnapshotTaskSet", items)};
}

std::string ImageServices::new_id(const std::string& prefix) {
  return fmt::format("{}-{:08}", prefix, ++next_id_);
}

}  // namespace nodepool::drivers::aws
