#include "cli/image_data.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "coordination/path.h"
#include "coordination/store.h"
#include "json/json.h"
#include "model/image_paths.h"
#include "model/node.h"
#include "model/paths.h"

namespace nodepool::cli {

namespace {

using Kind = model::ImagePath::Kind;

constexpr std::size_t kUploadDigits = 10;

bool is_upload_id(std::string_view id) {
  if (id.size() != kUploadDigits) return false;
  int number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  return error == std::errc() && end == id.data() + id.size() && number >= 0 &&
         number <= kHighestUpload;
}

bool is_exported(std::string_view path) {
  if (!coordination::is_within(path, model::kImagesRoot)) return false;
  const auto parsed =
      model::parse_image_path(coordination::relative_path(path, model::kImagesRoot));
  if (!parsed) return false;
  if (parsed->kind == Kind::upload) return is_upload_id(parsed->upload_id);
  return parsed->kind == Kind::pause || parsed->kind == Kind::build;
}

void check(const std::string& path, const nlohmann::json& text) {
  coordination::require_valid_path(path);
  if (!is_exported(path)) {
    throw std::runtime_error("'" + path + "' is not the path of a build, an upload or a pause");
  }
  if (!text.is_string()) throw std::runtime_error("the record " + path + " is not a string");
  if (text.get_ref<const std::string&>().size() > coordination::kMaximumDataSize) {
    throw std::runtime_error("the record " + path + " is too large");
  }
}

}  // namespace

std::string image_data_text(const ImageData& data) {
  std::string text = "{";
  for (const auto& [path, record] : data) {
    if (text.size() > 1) text += ", ";
    text += model::json_string(path).text + ": " + model::json_string(record).text;
  }
  return text + "}";
}

bool is_utf8(std::string_view text) {
  try {
    nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
  return true;
}

ImageData parse_image_data(std::string_view text) {
  json::Json object;
  try {
    object = json::parse(text);
  } catch (const json::ParseError& error) {
    throw std::runtime_error(std::string("invalid JSON: ") + error.what());
  }
  if (!object.is_object()) throw std::runtime_error("not a JSON object");
  ImageData data;
  for (const auto& [path, record] : object.items()) {
    check(path, record);
    data.emplace_back(path, record.get<std::string>());
  }
  return data;
}

}  // namespace nodepool::cli
