#include "drivers/gce/api/compute_engine.h"

#include <fmt/format.h>

#include <utility>

#include "cloud/answer.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "drivers/gce/api/refusal.h"

namespace nodepool::drivers::gce {

using async::Task;
using cloud::Element;
using cloud::url_text;
using driver::CloudError;

namespace {

constexpr const char* kInsert = "gce: insert instance";
constexpr const char* kList = "gce: list instances";
constexpr int kPageSize = 500;  // the maximum

// Other warnings say nothing about missing instances.
void throw_if_incomplete(const Element& list) {
  const auto warning = list.optional_object("warning");
  const std::string code = warning ? warning->text_or("code") : std::string();
  if (code != "UNREACHABLE" && code != "PARTIAL_SUCCESS") return;
  throw CloudError(CloudError::Kind::transient,
                   cloud::presentable(fmt::format("{}: incomplete: {}: {}", kList, code,
                                                  warning->text_or("message"))),
                   {}, code);
}

}  // namespace

ComputeEngine::ComputeEngine(const async::Runtime& runtime, const Account& account,
                             AccessTokens& tokens, http::RateLimit& rate_limit,
                             const telemetry::Logger& log, const http::Client::Observer& on_attempt)
    : account_(account),
      client_(runtime, {.transfers = {.ca_file = account.ca_file}}, log, on_attempt),
      rest_(runtime, client_, rate_limit,
            {.authorize = [&tokens](http::Request& request) { return tokens.authorize(request); },
             .classify = classify},
            log),
      log_(log) {}

std::string ComputeEngine::zone_path() const {
  return fmt::format("projects/{}/zones/{}", url_text(account_.project), url_text(account_.zone));
}

cloud::RestCall ComputeEngine::call(const char* name, std::string about,
                                    const std::string& path) const {
  cloud::RestCall call{.request = {.url = account_.base_url + "/" + path,
                                   .headers = {{"Accept", "application/json"}},
                                   .name = name},
                       .about = std::move(about)};
  const std::string& quota_project = account_.credentials.quota_project;
  if (!quota_project.empty()) {
    call.request.headers.emplace_back("X-Goog-User-Project", quota_project);
  }
  return call;
}

// What `read` reads from the response to a read call; nothing if the resource does not exist.
template <typename Read>
Task<std::optional<cloud::ReadItem<Read>>> ComputeEngine::get(const char* name, std::string about,
                                                              std::string path, Read read) {
  cloud::RestCall reading = call(name, std::move(about), path);
  const auto response = co_await driver::if_exists(rest_.send(std::move(reading)));
  if (!response) co_return std::nullopt;
  co_return read(cloud::parse_answer(name, *response));
}

Task<ComputeOperation> ComputeEngine::insert(InstanceRequest instance, std::string request_id) {
  cloud::RestCall inserting = call(
      kInsert, instance.name, fmt::format("{}/instances?requestId={}", zone_path(), request_id));
  inserting.request.method = "POST";
  inserting.request.body = body_of(instance).dump();
  inserting.request.headers.emplace_back("Content-Type", "application/json");
  inserting.request.repeatable = http::Request::Repeatable::yes;
  inserting.effect = cloud::Effect::creates;
  const http::Response response = co_await rest_.send(std::move(inserting));
  try {
    co_return read_operation(cloud::parse_answer(kInsert, response));
  } catch (const CloudError& error) {
    throw CloudError(CloudError::Kind::unknown_outcome, error.what());
  }
}

Task<bool> ComputeEngine::remove(std::string name) {
  cloud::RestCall removing = call("gce: delete instance", name,
                                  fmt::format("{}/instances/{}", zone_path(), url_text(name)));
  removing.request.method = "DELETE";
  const auto response = co_await driver::if_exists(rest_.send(std::move(removing)));
  co_return response.has_value();
}

Task<cloud::Page> ComputeEngine::ask_page(std::string token) {
  std::string path = fmt::format("{}/instances?maxResults={}", zone_path(), kPageSize);
  if (!token.empty()) path += "&pageToken=" + url_text(token);
  cloud::RestCall listing = call(kList, {}, path);
  const http::Response response = co_await cloud::list_response(rest_.send(std::move(listing)));
  const Element answer = cloud::parse_answer(kList, response);
  throw_if_incomplete(answer);
  co_return cloud::Page{.items = answer.list("items"),
                        .next = answer.text_or("nextPageToken"),
                        .bytes = response.body.size()};
}

Task<std::vector<ComputeInstance>> ComputeEngine::instances() {
  const cloud::AskPage ask = [this](std::string token) { return ask_page(std::move(token)); };
  return cloud::all_pages(kList, ask, &read_instance);
}

Task<bool> ComputeEngine::is_gone(std::string instance) {
  const std::string path = fmt::format("{}/instances/{}", zone_path(), url_text(instance));
  const auto read = [](const Element& /*instance*/) { return true; };
  try {
    const auto found = co_await get("gce: get instance", std::move(instance), path, read);
    co_return !found;
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::permanent) throw;
    if (!std::exchange(has_reported_instance_refusal_, true)) {
      log_.warning("{}. Without the permission compute.instances.get, an unlisted instance is gone",
                   error.what());
    }
  }
  co_return true;
}

Task<std::optional<ComputeOperation>> ComputeEngine::operation(std::string name) {
  const std::string path = fmt::format("{}/operations/{}", zone_path(), url_text(name));
  try {
    co_return co_await get("gce: get operation", std::move(name), path, &read_operation);
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::permanent) throw;
    if (!std::exchange(has_reported_refusal_, true)) {
      log_.warning("{}. Reasons of failed creations need the permission compute.zoneOperations.get",
                   error.what());
    }
  }
  co_return std::nullopt;
}

Task<std::optional<std::string>> ComputeEngine::console_output(std::string name) {
  const std::string path = fmt::format("{}/instances/{}/serialPort", zone_path(), url_text(name));
  const auto read = [](const Element& output) { return output.text_or("contents"); };
  return get("gce: get serial port output", std::move(name), path, read);
}

Task<std::optional<MachineType>> ComputeEngine::machine_type(std::string name) {
  const std::string path = fmt::format("{}/machineTypes/{}", zone_path(), url_text(name));
  return get("gce: get machine type", std::move(name), path, &read_machine_type);
}

Task<std::optional<std::string>> ComputeEngine::newest_image(const std::string& project,
                                                             const std::string& family) {
  const std::string path =
      fmt::format("projects/{}/global/images/family/{}", url_text(project), url_text(family));
  const auto read = [](const Element& image) { return image.text("selfLink"); };
  return get("gce: get image from family", family, path, read);
}

Task<std::optional<Quotas>> ComputeEngine::quotas() {
  const std::string path =
      fmt::format("projects/{}/regions/{}", url_text(account_.project), url_text(account_.region));
  return get("gce: get region", account_.region, path, &read_quotas);
}

Task<bool> ComputeEngine::exists(std::string path) {
  const auto read = [](const Element& /*resource*/) { return true; };
  try {
    const auto found = co_await get("gce: get resource", path, path, read);
    co_return found.has_value();
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::permanent) throw;
  }
  co_return true;
}

}  // namespace nodepool::drivers::gce
