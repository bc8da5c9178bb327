#include "drivers/openstack/api/image.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "cloud/url_text.h"
#include "driver/if_exists.h"
#include "drivers/openstack/api/service.h"

namespace nodepool::drivers::openstack {

namespace {

// The service's maximum page size.
constexpr const char* kPage = "limit=1000";

Image read_image(const Element& element) {
  return {.id = element.text("id"),
          .name = element.text_or("name"),
          .status = element.text("status"),
          .properties = element.own_texts(),
          .size = element.optional_number("size")};
}

// A list in the configuration is JSON here.
Json tags(const std::string& value) {
  const Json list = Json::parse(value, nullptr, false);
  return list.is_array() ? list : Json::array({value});
}

// Properties that are not text: numbers, a boolean, a list.
Json property(const std::string& key, const std::string& value) {
  constexpr std::array<std::string_view, 4> kNumbers = {"min_disk", "min_ram", "size",
                                                        "virtual_size"};
  if (std::ranges::find(kNumbers, key) != kNumbers.end()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) return number;
  }
  if (key == "protected") return value == "True" || value == "true";
  if (key == "tags") return tags(value);
  return value;
}

}  // namespace

async::Task<std::vector<Image>> ImageApi::images_called(std::string name) {
  co_return co_await service_.list(
      "find image", "/images?name=" + cloud::url_text(name) + "&" + kPage, "images", read_image);
}

// Not by visibility: an administrator sees the private images of all projects.
async::Task<std::vector<Image>> ImageApi::own_images(std::string name) {
  const std::string project = co_await service_.project_id();
  // Uploads may have any visibility. The caller compares the metadata.
  if (project.empty() && !name.empty()) co_return co_await images_called(std::move(name));
  std::string query = project.empty() ? "visibility=private" : "owner=" + cloud::url_text(project);
  if (!name.empty()) query += "&name=" + cloud::url_text(name);
  co_return co_await service_.list("list images", "/images?" + query + "&" + kPage, "images",
                                   read_image);
}

async::Task<std::optional<Image>> ImageApi::find(std::string id) {
  ServiceCall call{.name = "get image", .about = id, .path = "/images/" + cloud::url_text(id)};
  const auto answer = co_await driver::if_exists(service_.ask(std::move(call)));
  if (!answer) co_return std::nullopt;
  co_return read_image(*answer);
}

async::Task<std::string> ImageApi::create(ImageRequest request) {
  ServiceCall call{
      .name = "create image", .about = request.name, .method = "POST", .path = "/images"};
  for (const auto& [key, value] : request.properties) call.body[key] = property(key, value);
  call.body["name"] = request.name;
  call.body["disk_format"] = request.format;
  call.body.emplace("container_format", "bare");
  call.body.emplace("visibility", "private");
  const auto read_id = [](const Element& answer) { return answer.text("id"); };
  co_return co_await service_.make(std::move(call), read_id);
}

async::Task<> ImageApi::upload(std::string id, std::shared_ptr<const http::StreamedBody> content,
                               std::chrono::milliseconds stall_limit) {
  ServiceCall call{.name = "upload image",
                   .about = id,
                   .method = "PUT",
                   .path = "/images/" + cloud::url_text(id) + "/file"};
  call.headers.emplace_back("Content-Type", "application/octet-stream");
  call.streamed_body = std::move(content);
  call.deadline = stall_limit;
  co_await service_.send(std::move(call));
}

async::Task<> ImageApi::remove(std::string id) {
  ServiceCall call{.name = "delete image",
                   .about = id,
                   .method = "DELETE",
                   .path = "/images/" + cloud::url_text(id)};
  co_await service_.send_if_there(std::move(call));
}

}  // namespace nodepool::drivers::openstack
