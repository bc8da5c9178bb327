#include "model/image_upload.h"

#include <utility>

#include "model/failure_text.h"
#include "model/image_defaults.h"
#include "model/record_io.h"

namespace nodepool::model {

namespace {

using record_io::Reader;
using record_io::Writer;

// The keys after `state`, in the record's order. One list serves reading and writing.
template <typename UploadType, typename Fields>
void upload_fields(UploadType& upload, Fields& fields) {
  fields.field("state_time", upload.state_time);
  fields.field("external_id", upload.external_id);
  fields.field("external_name", upload.external_name);
  fields.field("format", upload.format);
  fields.field("username", upload.username);
  fields.field("python_path", upload.python_path);
  fields.field("shell_type", upload.shell_type);
}

}  // namespace

std::string_view to_string(UploadState state) {
  switch (state) {
    case UploadState::uploading:
      return "uploading";
    case UploadState::ready:
      return "ready";
    case UploadState::deleting:
      return "deleting";
    case UploadState::failed:
      return "failed";
  }
  return "";
}

std::optional<UploadState> parse_upload_state(std::string_view text) {
  for (const UploadState state : kAllUploadStates) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

void ImageUpload::fail(std::string_view why, double now) {
  set_state(UploadState::failed, now);
  failure = failure_text(why);
}

ImageUpload parse_image_upload(std::string image, std::string build_id, std::string provider,
                               std::string id, const coordination::Entry& entry) {
  Reader reader(entry.data);
  ImageUpload upload;
  upload.image = std::move(image);
  upload.build_id = std::move(build_id);
  upload.provider = std::move(provider);
  upload.id = std::move(id);
  upload.stat = entry.stat;
  std::string state;
  reader.field("state", state);
  const std::optional<UploadState> known_state = parse_upload_state(state);
  if (!known_state) throw RecordError("unknown upload state '" + state + "'");
  upload.state = *known_state;
  upload.username = kOldUsername;
  upload.python_path = kOldPythonPath;
  upload_fields(upload, reader);
  reader.field("failure", upload.failure);
  if (upload.failure) upload.failure = failure_text(*upload.failure);
  upload.unknown = reader.rest();
  return upload;
}

std::string to_record(const ImageUpload& upload) {
  Writer writer(upload.unknown);
  writer.field("state", to_string(upload.state));
  upload_fields(upload, writer);
  if (upload.failure) writer.field("failure", upload.failure);
  return writer.text();
}

}  // namespace nodepool::model
