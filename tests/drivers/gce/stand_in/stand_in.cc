#include "tests/drivers/gce/stand_in/stand_in.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <regex>

#include "cloud/base64.h"

namespace nodepool::drivers::gce {

namespace {

using Json = StandIn::Json;

constexpr const char* kBase = "/compute/v1/projects/";
constexpr const char* kEmail = "ci@p.iam.gserviceaccount.com";

std::string decoded(const std::string& text) {
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

std::map<std::string, std::string> parameters(const std::string& text) {
  std::map<std::string, std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('&', at), text.size());
    const std::string pair = text.substr(at, end - at);
    found[pair.substr(0, pair.find('='))] = decoded(pair.substr(pair.find('=') + 1));
    at = end + 1;
  }
  return found;
}

EVP_PKEY* key() {
  static EVP_PKEY* const key = ::EVP_RSA_gen(2048U);
  return key;
}

std::string from_url_base64(std::string text) {
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  while (text.size() % 4 != 0) text += '=';
  return cloud::base64_decoded(text).value_or("");
}

// The claims of a JWT; nothing if its signature is wrong.
std::optional<Json> verified(const std::string& jwt) {
  const std::size_t first = jwt.find('.');
  const std::size_t second = jwt.find('.', first + 1);
  if (second == std::string::npos) return std::nullopt;
  const std::string signature = from_url_base64(jwt.substr(second + 1));
  EVP_MD_CTX* context = ::EVP_MD_CTX_new();
  const bool is_valid =
      ::EVP_DigestVerifyInit(context, nullptr, ::EVP_sha256(), nullptr, key()) == 1 &&
      ::EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()),
                         signature.size(), reinterpret_cast<const unsigned char*>(jwt.data()),
                         second) == 1;
  ::EVP_MD_CTX_free(context);
  if (!is_valid) return std::nullopt;
  return Json::parse(from_url_base64(jwt.substr(first + 1, second - first - 1)), nullptr, false);
}

std::string header(const http::HttpServer::Call& call, const std::string& name) {
  const auto found = std::ranges::find(call.headers, name, &http::Headers::value_type::first);
  return found == call.headers.end() ? "" : found->second;
}

}  // namespace

std::string StandIn::key_file() const {
  BIO* memory = ::BIO_new(::BIO_s_mem());
  ::PEM_write_bio_PrivateKey(memory, key(), nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long size = ::BIO_get_mem_data(memory, &text);
  const std::string pem(text, static_cast<std::size_t>(size));
  ::BIO_free(memory);
  return Json{{"type", "service_account"},
              {"client_email", kEmail},
              {"private_key_id", "1"},
              {"private_key", pem},
              {"token_uri", url() + "/token"}}
      .dump();
}

StandIn::Instance& StandIn::add_instance(const std::string& name,
                                         const std::map<std::string, std::string>& metadata) {
  Json items = Json::array();
  for (const auto& [key, value] : metadata) items.push_back({{"key", key}, {"value", value}});
  Json body = {{"name", name},
               {"machineType", url() + kBase + "p/zones/north-1-a/machineTypes/e2-small"},
               {"metadata", {{"items", items}}}};
  instances[name] = {.body = std::move(body),
                     .id = std::to_string(++last_id_),
                     .made = runtime_.clock.now() - std::chrono::hours(1)};
  return instances[name];
}

void StandIn::settle() {
  const auto now = runtime_.clock.now();
  std::erase_if(instances, [&](const auto& entry) {
    const Instance& instance = entry.second;
    return (instance.has_failed && now >= instance.made + operation_time) ||
           (instance.deleted && now >= *instance.deleted + operation_time);
  });
}

std::string StandIn::status_of(const Instance& instance) const {
  const auto now = runtime_.clock.now();
  if (instance.deleted) return "STOPPING";
  if (instance.status) return *instance.status;
  if (now < instance.made + operation_time) return "PROVISIONING";
  if (now < instance.made + operation_time + boot_time) return "STAGING";
  return instance.is_broken ? "TERMINATED" : "RUNNING";
}

Json StandIn::shown(const std::string& name, const Instance& instance) const {
  return {
      {"kind", "compute#instance"},
      {"id", instance.id},
      {"name", name},
      {"status", status_of(instance)},
      {"zone", url() + kBase + "p/zones/north-1-a"},
      {"machineType", instance.body.at("machineType")},
      {"metadata", instance.body.at("metadata")},
      {"networkInterfaces",
       Json::array({{{"networkIP", "10.0.0." + instance.id},
                     {"accessConfigs", Json::array({{{"natIP", "192.0.2." + instance.id}}})}}})}};
}

StandIn::Operation& StandIn::begin(const std::string& code) {
  const std::string name = fmt::format("operation-{}", ++last_id_);
  operations_[name] = {.name = name, .done = runtime_.clock.now() + operation_time, .code = code};
  return operations_[name];
}

StandIn::Reply StandIn::shown(const Operation& operation) const {
  const bool is_done = runtime_.clock.now() >= operation.done;
  Json answer = {{"kind", "compute#operation"},
                 {"name", operation.name},
                 {"status", is_done ? "DONE" : "RUNNING"}};
  if (is_done && !operation.code.empty()) {
    answer["error"]["errors"] =
        Json::array({{{"code", operation.code}, {"message", "as the test wants it"}}});
  }
  return {200, answer.dump()};
}

StandIn::Reply StandIn::refusal(int status, const std::string& reason, const std::string& message) {
  return {status, Json{{"error",
                        {{"code", status},
                         {"message", message},
                         {"errors", Json::array({{{"reason", reason}, {"message", message}}})}}}}
                      .dump()};
}

std::optional<StandIn::Failure> StandIn::next_failure(const std::string& name) {
  std::deque<Failure>& own = failures_[name];
  std::deque<Failure>& queue = own.empty() && name != "POST token" ? any_ : own;
  if (queue.empty()) return std::nullopt;
  Failure failure = queue.front();
  queue.pop_front();
  return failure;
}

async::Task<std::string> StandIn::serve(const http::HttpServer::Call& call) {
  Request request{.method = call.method,
                  .path = {},
                  .query = {},
                  .body = Json::parse(call.body, nullptr, false)};
  const std::size_t question = std::min(call.target.find('?'), call.target.size());
  std::string target = call.target.substr(0, question);
  if (question < call.target.size()) request.query = parameters(call.target.substr(question + 1));
  if (target.starts_with(kBase)) target = target.substr(std::string(kBase).size());
  for (std::size_t at = 0; at < target.size();) {
    const std::size_t end = std::min(target.find('/', at), target.size());
    if (end > at) request.path.push_back(decoded(target.substr(at, end - at)));
    at = end + 1;
  }
  // Without the project and the zone, and with NAME for a name.
  std::string name = call.method + " ";
  const std::size_t first = request.path.size() > 3 && request.path[1] == "zones" ? 3 : 1;
  name += request.path.size() > 1 ? request.path[first] : request.path.at(0);
  if (request.path.size() > first + 1) name += "/NAME";
  if (request.path.size() > first + 2) name += "/" + request.path[first + 2];
  calls_[name].push_back(call);
  const std::optional<Failure> failure = next_failure(name);
  settle();
  Reply reply;
  if (!failure || failure->status < 0) reply = route(request, call);
  if (latency > async::Duration::zero()) {
    ++held_back_;
    co_await runtime_.clock.sleep_for(latency);
    --held_back_;
  }
  if (!failure) co_return http::answer(reply.status, reply.body);
  if (failure->status <= 0) co_return std::string();
  if (failure->status == 200) co_return http::answer(200, failure->message);
  const Reply refused = refusal(failure->status, failure->reason, failure->message);
  co_return http::answer(refused.status, refused.body, failure->headers);
}

StandIn::Reply StandIn::route(const Request& request, const http::HttpServer::Call& call) {
  if (request.path.front() == "token") return give_token(call);
  const std::string token = header(call, "authorization");
  if (!token.starts_with("Bearer ") || !tokens_.contains(token.substr(7))) {
    return refusal(401, "authError", "Invalid Credentials");
  }
  const std::vector<std::string>& path = request.path;
  const bool is_in_zone = path.size() > 3 && path[1] == "zones";
  if (is_in_zone && path[3] == "instances") {
    if (path.size() == 4) return request.method == "POST" ? insert(request) : list(request);
    const auto found = instances.find(path[4]);
    if (found == instances.end()) return refusal(404, "notFound", "was not found");
    if (path.size() == 6) return {200, Json{{"contents", "login: "}}.dump()};
    if (request.method == "GET") return {200, shown(found->first, found->second).dump()};
    if (!found->second.deleted) found->second.deleted = runtime_.clock.now();
    return shown(begin(""));
  }
  if (is_in_zone && path[3] == "operations") {
    const auto found = operations_.find(path[4]);
    if (found != operations_.end()) return shown(found->second);
  }
  return read_resource(request);
}

StandIn::Reply StandIn::give_token(const http::HttpServer::Call& call) {
  const auto form = parameters(call.body);
  const auto assertion = form.find("assertion");
  const auto claims = assertion == form.end() ? std::nullopt : verified(assertion->second);
  const double now = runtime_.clock.wall_seconds();
  if (!claims || (*claims)["iss"] != kEmail || (*claims)["aud"] != url() + "/token" ||
      (*claims)["iat"] > now || (*claims)["exp"] <= now || (*claims)["exp"] > now + 3600 ||
      form.at("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer") {
    return {400, R"({"error": "invalid_grant", "error_description": "Invalid JWT Signature."})"};
  }
  const std::string token = "token-" + std::to_string(++last_id_);
  tokens_.insert(token);
  return {200, fmt::format(R"({{"access_token": "{}", "expires_in": {}, "token_type": "Bearer"}})",
                           token, token_life)};
}

StandIn::Reply StandIn::insert(const Request& request) {
  static const std::regex uuid("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  const auto id = request.query.find("requestId");
  if (id == request.query.end() || !std::regex_match(id->second, uuid)) {
    return refusal(400, "invalid", "requestId is no UUID");
  }
  if (const auto known = requests_.find(id->second); known != requests_.end()) {
    return shown(operations_.at(known->second));
  }
  const std::string name = request.body.at("name");
  if (instances.contains(name)) return refusal(409, "alreadyExists", "already exists");
  std::string code;
  if (!operation_errors.empty()) {
    code = operation_errors.front();
    operation_errors.pop_front();
  } else if (instances.size() + others >= capacity) {
    code = "QUOTA_EXCEEDED";
  }
  const Operation& operation = begin(code);
  requests_[id->second] = operation.name;
  Instance made{.body = request.body,
                .id = std::to_string(++last_id_),
                .made = runtime_.clock.now(),
                .is_broken = broken > 0,
                .has_failed = !code.empty()};
  if (broken > 0) --broken;
  if (!made.has_failed || lists_failed) instances[name] = std::move(made);
  return shown(operation);
}

StandIn::Reply StandIn::list(const Request& request) {
  if (empty_lists > 0) {
    --empty_lists;
    return {200, R"({"kind": "compute#instanceList"})"};
  }
  Json items = Json::array();
  std::string next;
  const auto token = request.query.find("pageToken");
  for (auto at = token == request.query.end() ? instances.begin() : instances.find(token->second);
       at != instances.end(); ++at) {
    if (items.size() >= page) {
      next = at->first;
      break;
    }
    items.push_back(shown(at->first, at->second));
  }
  Json answer = {{"kind", "compute#instanceList"}, {"items", items}};
  if (!next.empty()) answer["nextPageToken"] = next;
  return {200, answer.dump()};
}

StandIn::Reply StandIn::read_resource(const Request& request) {
  const std::vector<std::string>& path = request.path;
  std::string name;
  for (std::size_t i = 1; i < path.size(); ++i) name += (i > 1 ? "/" : "") + path[i];
  const std::string link = url() + kBase + path[0] + "/" + name;
  if (name == "zones/north-1-a/machineTypes/e2-small") {
    return {200, Json{{"selfLink", link}, {"guestCpus", 2}, {"memoryMb", 2048}}.dump()};
  }
  if (name == "regions/north-1") {
    const std::size_t used = instances.size() + others;
    Json quotas = Json::array({{{"metric", "CPUS"}, {"limit", 2 * capacity}, {"usage", 2 * used}},
                               {{"metric", "INSTANCES"}, {"limit", capacity}, {"usage", used}}});
    return {200, Json{{"name", "north-1"}, {"quotas", quotas}}.dump()};
  }
  if (path.size() == 5 && path[3] == "family" && families.contains(path[4])) {
    return {
        200,
        Json{{"selfLink", url() + kBase + path[0] + "/global/images/" + path[4] + "-v1"}}.dump()};
  }
  if (resources.contains(name)) return {200, Json{{"name", path.back()}}.dump()};
  return refusal(404, "notFound", fmt::format("The resource '{}' was not found", name));
}

}  // namespace nodepool::drivers::gce
