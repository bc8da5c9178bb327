#include "model/image_build.h"

#include <algorithm>

#include "model/failure_text.h"
#include "model/image_defaults.h"
#include "model/record_io.h"

namespace nodepool::model {

namespace {

using record_io::Reader;
using record_io::Writer;

// The record has a text with commas: "qcow2,raw".
std::vector<std::string> split_formats(std::string_view text) {
  std::vector<std::string> formats;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    formats.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  std::ranges::sort(formats);
  return formats;
}

std::string join_formats(std::vector<std::string> formats) {
  std::ranges::sort(formats);
  std::string text;
  for (const std::string& format : formats) {
    if (!text.empty()) text += ',';
    text += format;
  }
  return text;
}

}  // namespace

std::string_view to_string(BuildState state) {
  switch (state) {
    case BuildState::building:
      return "building";
    case BuildState::ready:
      return "ready";
    case BuildState::deleting:
      return "deleting";
    case BuildState::failed:
      return "failed";
  }
  return "";
}

std::optional<BuildState> parse_build_state(std::string_view text) {
  for (const BuildState state : kAllBuildStates) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

bool ImageBuild::has_format(std::string_view format) const {
  return std::ranges::find(formats, format) != formats.end();
}

void ImageBuild::fail(std::string_view why, double now) {
  set_state(BuildState::failed, now);
  failure = failure_text(why);
}

ImageBuild parse_image_build(std::string image, std::string id, const coordination::Entry& entry) {
  Reader reader(entry.data);
  ImageBuild build;
  build.image = std::move(image);
  build.id = std::move(id);
  build.stat = entry.stat;
  std::string state;
  reader.field("state", state);
  const std::optional<BuildState> known_state = parse_build_state(state);
  if (!known_state) throw RecordError("unknown build state '" + state + "'");
  build.state = *known_state;
  reader.field("state_time", build.state_time);
  reader.field("builder", build.builder);
  reader.field("builder_id", build.builder_id);
  std::string formats;
  reader.field("formats", formats);
  build.formats = split_formats(formats);
  build.username = kOldUsername;
  build.python_path = kOldPythonPath;
  reader.field("username", build.username);
  reader.field("python_path", build.python_path);
  reader.field("shell_type", build.shell_type);
  reader.field("failure", build.failure);
  if (build.failure) build.failure = failure_text(*build.failure);
  build.unknown = reader.rest();
  return build;
}

std::string to_record(const ImageBuild& build) {
  Writer writer(build.unknown);
  writer.field("state", to_string(build.state));
  writer.field("state_time", build.state_time);
  if (build.builder) writer.field("builder", build.builder);
  if (build.builder_id) writer.field("builder_id", build.builder_id);
  if (!build.formats.empty()) writer.field("formats", join_formats(build.formats));
  writer.field("username", build.username);
  writer.field("python_path", build.python_path);
  writer.field("shell_type", build.shell_type);
  if (build.failure) writer.field("failure", build.failure);
  return writer.text();
}

std::string build_log_name(std::string_view image, std::string_view build_id) {
  return std::string(image).append("-").append(build_id).append(".log");
}

}  // namespace nodepool::model
