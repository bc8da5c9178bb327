#include "drivers/ibmvpc/api/vpc_api.h"

#include <fmt/format.h>

#include <algorithm>

#include "cloud/answer.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "drivers/ibmvpc/api/refusal.h"

namespace nodepool::drivers::ibmvpc {

using async::Task;
using cloud::Element;
using cloud::url_text;
using driver::CloudError;

namespace {

// Behaves as on this day; the API requires a date.
constexpr const char* kVersion = "version=2026-10-06&generation=2";
constexpr int kPageSize = 100;  // the maximum
constexpr const char* kListImages = "vpc: list images";

// The page marker in {"next": {"href": "https://…?start=MARKER&…"}}, encoded; empty: none.
std::string start_of_next(const Element& page) {
  const auto next = page.optional_object("next");
  if (!next) return {};
  const std::string href = next->text_or("href");
  for (const char* key : {"?start=", "&start="}) {
    const std::size_t found = href.find(key);
    if (found == std::string::npos) continue;
    const std::size_t begin = found + std::string_view(key).size();
    return href.substr(begin, std::min(href.find('&', begin), href.size()) - begin);
  }
  return {};
}

}  // namespace

VpcApi::VpcApi(const async::Runtime& runtime, const VpcAccount& account, IamTokens& tokens,
               http::RateLimit& rate_limit, const telemetry::Logger& log,
               const http::Client::Observer& on_attempt)
    : account_(account),
      client_(runtime, {.transfers = {.ca_file = account.ca_file}}, log, on_attempt),
      rest_(runtime, client_, rate_limit,
            {.authorize = [&tokens](http::Request& request) { return tokens.authorize(request); },
             .classify = classify},
            log) {}

cloud::RestCall VpcApi::call(const char* name, std::string about, std::string url) const {
  return {
      .request = {.url = std::move(url), .headers = {{"Accept", "application/json"}}, .name = name},
      .about = std::move(about)};
}

std::string VpcApi::vpc_url(const std::string& path) const {
  return fmt::format("{}{}?{}", account_.vpc_url, path, kVersion);
}

// Names are unique: a second call would be refused. So the caller looks for the result of a call
// with unknown outcome, instead of repeating it.
Task<std::string> VpcApi::make(const char* name, std::string about, std::string url,
                               json::Json body) {
  cloud::RestCall making = call(name, std::move(about), std::move(url));
  making.request.method = "POST";
  making.request.body = body.dump();
  making.request.headers.emplace_back("Content-Type", "application/json");
  making.effect = cloud::Effect::creates;
  const http::Response response = co_await rest_.send(std::move(making));
  try {
    co_return cloud::parse_answer(name, response).text("id");
  } catch (const CloudError& error) {
    throw CloudError(CloudError::Kind::unknown_outcome, error.what());
  }
}

Task<std::string> VpcApi::make_instance(const VpcInstanceRequest& instance) {
  std::string name = instance.name;
  return make("vpc: create instance", std::move(name), vpc_url("/instances"), body_of(instance));
}

Task<std::string> VpcApi::make_floating_ip(std::string name, std::string group,
                                           std::string interface_id) {
  json::Json body = {
      {"name", name}, {"resource_group", {{"id", group}}}, {"target", {{"id", interface_id}}}};
  return make("vpc: create floating ip", std::move(name), vpc_url("/floating_ips"),
              std::move(body));
}

Task<std::string> VpcApi::make_group(std::string name) {
  json::Json body = {{"name", name}};
  return make("resource manager: create group", std::move(name),
              account_.groups_url + "/v2/resource_groups", std::move(body));
}

Task<std::string> VpcApi::make_image(VpcImageRequest image) {
  json::Json body = body_of(image);
  return make("vpc: create image", std::move(image.name), vpc_url("/images"), std::move(body));
}

Task<bool> VpcApi::remove(const char* name, std::string path, std::string id) {
  cloud::RestCall removing = call(name, id, vpc_url(path + "/" + url_text(id)));
  removing.request.method = "DELETE";
  const auto response = co_await driver::if_exists(rest_.send(std::move(removing)));
  co_return response.has_value();
}

Task<bool> VpcApi::remove_instance(std::string id) {
  return remove("vpc: delete instance", "/instances", std::move(id));
}

Task<bool> VpcApi::remove_floating_ip(std::string id) {
  return remove("vpc: delete floating ip", "/floating_ips", std::move(id));
}

Task<bool> VpcApi::remove_image(std::string id) {
  return remove("vpc: delete image", "/images", std::move(id));
}

Task<bool> VpcApi::is_gone(const char* name, std::string path, std::string id) {
  cloud::RestCall reading = call(name, id, vpc_url(path + "/" + url_text(id)));
  const auto response = co_await driver::if_exists(rest_.send(std::move(reading)));
  co_return !response;
}

Task<bool> VpcApi::is_instance_gone(std::string id) {
  return is_gone("vpc: get instance", "/instances", std::move(id));
}

Task<bool> VpcApi::is_floating_ip_gone(std::string id) {
  return is_gone("vpc: get floating ip", "/floating_ips", std::move(id));
}

// Markers are used as they are in the links, encoded.
Task<cloud::Page> VpcApi::ask_page(Listing listing, std::string start) {
  std::string url = fmt::format("{}&limit={}{}", vpc_url(listing.path), kPageSize, listing.filter);
  if (!start.empty()) url += "&start=" + start;
  cloud::RestCall reading = call(listing.name, {}, std::move(url));
  const http::Response response = co_await cloud::list_response(rest_.send(std::move(reading)));
  const Element answer = cloud::parse_answer(listing.name, response);
  co_return cloud::Page{.items = answer.list(listing.items),
                        .next = start_of_next(answer),
                        .bytes = response.body.size()};
}

template <typename Read>
Task<std::vector<cloud::ReadItem<Read>>> VpcApi::list(Listing listing, Read read) {
  const std::string name = listing.name;
  const cloud::AskPage ask = [this, listing = std::move(listing)](std::string start) {
    return ask_page(listing, std::move(start));
  };
  return cloud::all_pages(name, ask, read);
}

Task<std::vector<VpcInstance>> VpcApi::instances() {
  return list({.name = "vpc: list instances", .path = "/instances", .items = "instances"},
              &read_instance);
}

Task<std::vector<VpcFloatingIp>> VpcApi::floating_ips() {
  return list({.name = "vpc: list floating ips", .path = "/floating_ips", .items = "floating_ips"},
              &read_floating_ip);
}

Task<std::vector<VpcThing>> VpcApi::vpcs() {
  return list({.name = "vpc: list vpcs", .path = "/vpcs", .items = "vpcs"}, &read_thing);
}

Task<std::vector<VpcThing>> VpcApi::subnets() {
  return list({.name = "vpc: list subnets", .path = "/subnets", .items = "subnets"}, &read_thing);
}

Task<std::vector<VpcThing>> VpcApi::keys() {
  return list({.name = "vpc: list keys", .path = "/keys", .items = "keys"}, &read_thing);
}

Task<std::vector<VpcImage>> VpcApi::images() {
  return list({.name = kListImages, .path = "/images", .items = "images"}, &read_image);
}

Task<std::vector<VpcImage>> VpcApi::own_images() {
  return list(
      {.name = kListImages, .path = "/images", .items = "images", .filter = "&visibility=private"},
      &read_image);
}

Task<std::optional<VpcImage>> VpcApi::image_named(std::string name) {
  Listing listing{.name = kListImages,
                  .path = "/images",
                  .items = "images",
                  .filter = "&visibility=private&name=" + url_text(name)};
  const std::vector<VpcImage> images = co_await list(std::move(listing), &read_image);
  for (const VpcImage& image : images) {
    if (image.name == name) co_return image;
  }
  co_return std::nullopt;
}

Task<std::optional<VpcImage>> VpcApi::image(std::string id) {
  constexpr const char* kName = "vpc: get image";
  cloud::RestCall reading = call(kName, id, vpc_url("/images/" + url_text(id)));
  const auto response = co_await driver::if_exists(rest_.send(std::move(reading)));
  if (!response) co_return std::nullopt;
  co_return read_image(cloud::parse_answer(kName, *response));
}

// These two are not paginated.
Task<std::vector<VpcProfile>> VpcApi::profiles() {
  constexpr const char* kName = "vpc: list instance profiles";
  cloud::RestCall reading = call(kName, {}, vpc_url("/instance/profiles"));
  const http::Response response = co_await cloud::list_response(rest_.send(std::move(reading)));
  std::vector<VpcProfile> profiles;
  for (const Element& profile : cloud::parse_answer(kName, response).list("profiles")) {
    profiles.push_back(read_profile(profile));
  }
  co_return profiles;
}

Task<std::vector<VpcThing>> VpcApi::groups() {
  constexpr const char* kName = "resource manager: list groups";
  cloud::RestCall reading = call(kName, {}, account_.groups_url + "/v2/resource_groups");
  const http::Response response = co_await cloud::list_response(rest_.send(std::move(reading)));
  std::vector<VpcThing> groups;
  for (const Element& group : cloud::parse_answer(kName, response).list("resources")) {
    groups.push_back(read_thing(group));
  }
  co_return groups;
}

}  // namespace nodepool::drivers::ibmvpc
