#include "drivers/azure/api/resource_manager.h"

#include <fmt/format.h>

#include <algorithm>

#include "cloud/answer.h"
#include "cloud/url_text.h"
#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "drivers/azure/api/arm_error.h"
#include "http/error.h"
#include "http/retry.h"

namespace nodepool::drivers::azure {

using async::Task;
using cloud::Element;
using cloud::url_text;
using driver::CloudError;
using json::Json;

namespace {

constexpr const char* kGroupVersion = "2021-04-01";
constexpr const char* kSubnetVersion = "2020-07-01";
constexpr const char* kSizesVersion = "2019-04-01";
constexpr const char* kUsagesVersion = "2020-12-01";
// Between two polls of an operation, if Azure does not say.
constexpr async::Duration kUsualPause = std::chrono::seconds(2);
constexpr async::Duration kLongestPause = std::chrono::seconds(30);

std::string with_version(const std::string& path, std::string_view version) {
  return fmt::format("{}{}api-version={}", path, path.contains('?') ? '&' : '?', version);
}

// The body of a success, which may be empty.
std::optional<Element> result_in(const std::string& what, const http::Response& response) {
  if (response.body.empty() || response.status == 204) return std::nullopt;
  return cloud::parse_answer(what, response);
}

}  // namespace

ResourceManager::ResourceManager(const async::Runtime& runtime, const AzureAccount& account,
                                 ArmTokens& tokens, ArmRateLimit& rate_limit, telemetry::Logger log,
                                 const http::Client::Observer& on_attempt)
    : runtime_(runtime),
      account_(account),
      log_(std::move(log)),
      client_(runtime,
              {.transfers = {.ca_file = account.ca_file},
               .request_id_headers = {"x-ms-correlation-request-id", "x-ms-request-id"}},
              log_, on_attempt),
      rest_(runtime, client_, rate_limit,
            {.authorize = [&tokens](http::Request& request) { return tokens.authorize(request); },
             .classify = classify,
             .observe =
                 [&rate_limit](http::Precedence precedence, const http::Response& response) {
                   rate_limit.observe(precedence, response);
                 }},
            log_) {}

std::string ResourceManager::subscription_path() const {
  return "/subscriptions/" + url_text(account_.subscription.id);
}

std::string ResourceManager::group_path() const {
  return subscription_path() + "/resourceGroups/" + url_text(account_.resource_group);
}

std::string ResourceManager::list_path(ResourceType type) const {
  return with_version(fmt::format("{}/providers/{}", group_path(), type.path), type.version);
}

std::string ResourceManager::id_of(ResourceType type, std::string_view name) const {
  return fmt::format("/subscriptions/{}/resourceGroups/{}/providers/{}/{}",
                     account_.subscription.id, account_.resource_group, type.path, name);
}

cloud::RestCall ResourceManager::call(std::string name, std::string about, std::string path) const {
  const bool is_url = path.starts_with("http");
  return {.request = {.url = is_url ? std::move(path) : account_.subscription.base_url + path,
                      .headers = {{"Accept", "application/json"}},
                      .name = std::move(name)},
          .about = std::move(about)};
}

// The response to a read call; nothing if the resource does not exist.
Task<std::optional<Element>> ResourceManager::read(std::string name, std::string about,
                                                   std::string path) {
  cloud::RestCall reading = call(name, std::move(about), std::move(path));
  const auto response = co_await driver::if_exists(rest_.send(std::move(reading)));
  if (!response) co_return std::nullopt;
  co_return cloud::parse_answer(name, *response);
}

Task<std::optional<Element>> ResourceManager::get(ResourceType type, std::string name) {
  std::string path = with_version(
      fmt::format("{}/providers/{}/{}", group_path(), type.path, url_text(name)), type.version);
  co_return co_await read(fmt::format("azure: get {}", type.what), name, std::move(path));
}

Task<bool> ResourceManager::is_gone(ResourceType type, std::string name) {
  const std::optional<Element> found = co_await get(type, std::move(name));
  co_return !found;
}

Task<ResourceManager::Created> ResourceManager::put(ResourceType type, std::string name, Json body,
                                                    std::vector<std::string> secrets) {
  const std::string what = fmt::format("azure: create {}", type.what);
  std::string path = with_version(
      fmt::format("{}/providers/{}/{}", group_path(), type.path, url_text(name)), type.version);
  cloud::RestCall creating = call(what, name, std::move(path));
  creating.request.method = "PUT";
  creating.request.body = body.dump();
  creating.request.headers.emplace_back("Content-Type", "application/json");
  creating.request.secrets = std::move(secrets);
  creating.effect = cloud::Effect::creates;
  const http::Response response = co_await rest_.send(std::move(creating));
  try {
    co_return Created{.resource = cloud::parse_answer(what, response),
                      .operation = operation_in(response, what + " " + name)};
  } catch (const CloudError& error) {
    throw CloudError(CloudError::Kind::unknown_outcome, error.what());
  }
}

Task<std::optional<LongOperation>> ResourceManager::remove(ResourceType type, std::string name) {
  const std::string what = fmt::format("azure: delete {}", type.what);
  std::string path = with_version(
      fmt::format("{}/providers/{}/{}", group_path(), type.path, url_text(name)), type.version);
  cloud::RestCall removing = call(what, name, std::move(path));
  removing.request.method = "DELETE";
  const auto response = co_await driver::if_exists(rest_.send(std::move(removing)));
  if (!response || response->status == 204) co_return std::nullopt;
  co_return operation_in(*response, what + " " + name);
}

// Repeatable: an action that has been carried out is refused or has the same effect.
Task<LongOperation> ResourceManager::act(ResourceType type, std::string name, std::string action,
                                         Json body) {
  const std::string what = fmt::format("azure: {} of {}", action, type.what);
  std::string path = with_version(
      fmt::format("{}/providers/{}/{}/{}", group_path(), type.path, url_text(name), action),
      type.version);
  cloud::RestCall acting = call(what, name, std::move(path));
  acting.request.method = "POST";
  acting.request.body = body.dump();
  acting.request.headers.emplace_back("Content-Type", "application/json");
  acting.request.repeatable = http::Request::Repeatable::yes;
  const http::Response response = co_await rest_.send(std::move(acting));
  co_return operation_in(response, what + " " + name);
}

async::Duration ResourceManager::pause_in(const http::Response& response) const {
  const auto asked =
      http::retry_after(response.header("retry-after"), runtime_.clock.wall_seconds());
  return asked ? std::clamp<async::Duration>(*asked, std::chrono::seconds(1), kLongestPause)
               : kUsualPause;
}

LongOperation ResourceManager::operation_in(const http::Response& response,
                                            std::string what) const {
  LongOperation operation{.pause = pause_in(response), .what = std::move(what)};
  operation.url = response.header("azure-asyncoperation");
  if (operation.url.empty() && response.status == 202) {
    operation.url = response.header("location");
    operation.is_result = true;
  }
  if (operation.url.empty()) operation.result = result_in(operation.what, response);
  return operation;
}

// A failed look is repeated: the operation goes on. Unknown states count as in progress.
Task<std::optional<Element>> ResourceManager::finish(LongOperation operation) {
  while (!operation.url.empty()) {
    co_await runtime_.clock.sleep_for(operation.pause);
    cloud::RestCall looking = call("azure: get operation", {}, operation.url);
    http::Response response;
    try {
      response = co_await rest_.send(std::move(looking));
    } catch (const CloudError& error) {
      if (operation.is_result || error.kind() != CloudError::Kind::transient) throw;
      log_.warning("Error polling an operation ({}): {}", operation.what, error.what());
      operation.pause = std::max(operation.pause, kUsualPause);
      continue;
    }
    operation.pause = pause_in(response);
    if (operation.is_result && response.status == 202) continue;
    std::optional<Element> result = result_in(operation.what, response);
    if (operation.is_result || !result) co_return result;
    const std::string status = result->text_or("status");
    if (status == "Failed" || status == "Canceled") {
      throw failure_of(json::parse(response.body), operation.what);
    }
    if (status != "Succeeded") continue;
    const std::optional<Element> properties = result->optional_object("properties");
    co_return properties ? properties->optional_object("output") : std::nullopt;
  }
  co_return operation.result;
}

// A group that does not exist has no resources.
Task<cloud::Page> ResourceManager::ask_page(std::string call, std::string path, std::string next) {
  cloud::RestCall listing = this->call(call, {}, next.empty() ? std::move(path) : std::move(next));
  http::Response response;
  try {
    response = co_await cloud::list_response(rest_.send(std::move(listing)));
  } catch (const CloudError& error) {
    if (error.code() != "ResourceGroupNotFound") throw;
    co_return cloud::Page{};
  }
  const Element answer = cloud::parse_answer(call, response);
  co_return cloud::Page{.items = answer.list("value"),
                        .next = answer.text_or("nextLink"),
                        .bytes = response.body.size()};
}

Task<std::vector<VmSize>> ResourceManager::sizes() {
  const std::string filter = url_text("location eq '" + location_name(account_.location) + "'");
  const std::string path =
      subscription_path() + "/providers/Microsoft.Compute/skus?$filter=" + filter;
  return list_at("azure: list sizes", with_version(path, kSizesVersion), &read_size);
}

Task<std::vector<Usage>> ResourceManager::usages() {
  const std::string path =
      fmt::format("{}/providers/Microsoft.Compute/locations/{}/usages", subscription_path(),
                  url_text(location_name(account_.location)));
  return list_at("azure: list usages", with_version(path, kUsagesVersion), &read_usage);
}

// Only the subscription's list can have states, and no other list can have them for all its
// machines.
Task<std::vector<PowerState>> ResourceManager::power_states() {
  const std::string path =
      fmt::format("{}/providers/{}?statusOnly=true", subscription_path(), kMachineType.path);
  return list_at("azure: list states of virtual machines", with_version(path, kMachineType.version),
                 &read_power_state);
}

// Credentials for the group's resources alone may not read the group: then it exists.
Task<> ResourceManager::ensure_group() {
  const std::string path = with_version(group_path(), kGroupVersion);
  std::optional<Element> group;
  try {
    group = co_await read("azure: get resource group", account_.resource_group, path);
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::permanent) throw;
    co_return;
  }
  if (group && read_resource(*group).is_going()) {
    throw CloudError(CloudError::Kind::transient,
                     "resource group " + account_.resource_group + " is being deleted");
  }
  if (group) co_return;
  log_.info("Creating resource group {}", account_.resource_group);
  cloud::RestCall creating = call("azure: create resource group", account_.resource_group, path);
  creating.request.method = "PUT";
  creating.request.body = Json{{"location", account_.group_location}}.dump();
  creating.request.headers.emplace_back("Content-Type", "application/json");
  co_await rest_.send(std::move(creating));
}

Task<bool> ResourceManager::subnet_exists(std::string id) {
  try {
    const auto found = co_await read("azure: get subnet", id, with_version(id, kSubnetVersion));
    co_return found.has_value();
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::permanent) throw;
  }
  co_return true;
}

// The URL of the output has its own signature.
Task<std::optional<std::string>> ResourceManager::console_log(std::string machine) {
  const std::string what = "azure: get console log";
  std::string path = fmt::format("{}/providers/{}/{}/retrieveBootDiagnosticsData", group_path(),
                                 kMachineType.path, url_text(machine));
  cloud::RestCall asking = call(what, machine, with_version(path, kMachineType.version));
  asking.request.method = "POST";
  asking.request.repeatable = http::Request::Repeatable::yes;
  const http::Response links = co_await rest_.send(std::move(asking));
  const std::string url = cloud::parse_answer(what, links).text_or("serialConsoleLogBlobUri");
  if (url.empty()) co_return std::nullopt;
  http::Request getting{.url = url, .secrets = {url}, .name = what};
  try {
    http::Response output = co_await client_.send(std::move(getting));
    if (output.status == 404) co_return std::nullopt;
    if (output.is_success()) co_return std::move(output.body);
    throw CloudError(CloudError::Kind::failed, fmt::format("{}: HTTP {}", what, output.status));
  } catch (const http::HttpError& error) {
    throw CloudError(CloudError::Kind::failed, http::without_secrets(error.what(), {url}));
  }
}

}  // namespace nodepool::drivers::azure
