#include "tests/drivers/ibmvpc/stand_in/stand_in.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodepool::drivers::ibmvpc {

namespace {

using Json = StandIn::Json;

std::map<std::string, std::string> parameters(const std::string& text) {
  std::map<std::string, std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('&', at), text.size());
    const std::string pair = text.substr(at, end - at);
    found[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
    at = end + 1;
  }
  return found;
}

std::string header(const http::HttpServer::Call& call, const std::string& name) {
  for (const auto& [key, value] : call.headers) {
    std::string lower = key;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    if (lower == name) return value;
  }
  return {};
}

// The kind of a call, see StandIn::calls().
std::string name_of(const std::vector<std::string>& path, const http::HttpServer::Call& call) {
  if (BucketStandIn::is_call(call)) return "storage " + BucketStandIn::action(call);
  const bool has_id = path.size() > 1 && path[0] != "instance";  // "instance/profiles"
  return call.method + " " + path.at(0) + (has_id ? "/ID" : "");
}

std::string id_in(const Json& body, const char* key) {
  return body.contains(key) ? body.at(key).value("id", "") : std::string();
}

Json named(const std::string& prefix, const std::string& name) {
  return {{"id", prefix + name}, {"name", name}};
}

}  // namespace

std::size_t StandIn::count() const {
  std::size_t all = 0;
  for (const auto& [kind, calls] : calls_) all += calls.size();
  return all;
}

std::string StandIn::add_instance(Instance instance) {
  instance.made = runtime_.clock.now() - operation_time - boot_time;
  std::string id = fmt::format("i-{}", ++last_id_);
  instances[id] = std::move(instance);
  return id;
}

void StandIn::settle() {
  const auto now = runtime_.clock.now();
  const auto is_over = [now](async::Duration time) {
    return [now, time](const auto& entry) {
      return entry.second.deleted && now >= *entry.second.deleted + time;
    };
  };
  std::erase_if(instances, is_over(operation_time));
  std::erase_if(floating_ips, is_over(ip_removal_time));
  std::erase_if(own_images, is_over(operation_time));
}

std::string StandIn::status_of(const Instance& instance) const {
  const auto now = runtime_.clock.now();
  if (instance.deleted) return "deleting";
  if (!instance.status.empty()) return instance.status;
  if (now < instance.made + operation_time) return "pending";
  if (!instance.reason.empty()) return "failed";
  return now < instance.made + operation_time + boot_time ? "starting" : "running";
}

Json StandIn::shown(const std::string& id, const Instance& instance) const {
  const std::string status = status_of(instance);
  Json all = {
      {"id", id},
      {"name", instance.name},
      {"status", status},
      {"status_reasons", Json::array()},
      {"resource_group", named("g-", instance.group)},
      {"profile", {{"name", "bx2-2x8"}}},
      {"zone", {{"name", "north-1"}}},
      {"primary_network_interface",
       {{"id", "nic-" + id},
        {"primary_ip", {{"address", status == "pending" ? "0.0.0.0" : "10.0.0." + id.substr(2)}}}}},
      {"boot_volume_attachment", {{"name", instance.boot_disk_name}}}};
  if (status == "failed") {
    all["status_reasons"].push_back({{"code", instance.reason}, {"message", "as the test wants"}});
  }
  return all;
}

std::string StandIn::status_of(const Image& image) const {
  if (image.deleted) return "deleting";
  if (!image.status.empty()) return image.status;
  if (runtime_.clock.now() < image.made + import_time) return "pending";
  return breaks_imports ? "failed" : "available";
}

Json StandIn::shown(const std::string& id, const Image& image) const {
  Json all = {{"id", id},
              {"name", image.name},
              {"status", status_of(image)},
              {"status_reasons", Json::array()},
              {"visibility", "private"},
              {"resource_group", named("g-", image.group)},
              {"operating_system", {{"name", "debian-12-amd64"}}}};
  if (all.at("status") == "failed") {
    all["status_reasons"].push_back({{"code", "image_data_corrupted"}, {"message", "bad data"}});
  }
  return all;
}

Json StandIn::shown(const std::string& id, const FloatingIp& ip) const {
  const bool is_available = runtime_.clock.now() >= ip.made + operation_time;
  Json all = {{"id", id},
              {"name", ip.name},
              {"status", ip.deleted     ? "deleting"
                         : is_available ? "available"
                                        : "pending"},
              {"address", "192.0.2." + id.substr(2)},
              {"resource_group", named("g-", ip.group)}};
  const bool has_target = instances.contains(ip.target.substr(4));
  if (is_available && !ip.deleted && has_target) all["target"]["id"] = ip.target;
  return all;
}

StandIn::Reply StandIn::refusal(int status, const std::string& code) {
  const Json error = {{"code", code}, {"message", "as the test wants it"}};
  return {status, Json{{"errors", Json::array({error})}, {"trace", "t"}}.dump()};
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
  if (question < call.target.size()) request.query = parameters(call.target.substr(question + 1));
  const std::string target = call.target.substr(0, question);
  for (std::size_t at = target.find('/', 1); at < target.size();) {
    ++at;
    const std::size_t end = std::min(target.find('/', at), target.size());
    if (end > at) request.path.push_back(target.substr(at, end - at));
    at = end;
  }
  const std::string name = name_of(request.path, call);
  calls_[name].push_back(call);
  const std::optional<Failure> failure = next_failure(name);
  settle();
  Reply reply;
  if (!failure || failure->status < 0) reply = answer_of(request, call);
  if (latency > async::Duration::zero()) {
    ++held_back_;
    co_await runtime_.clock.sleep_for(latency);
    --held_back_;
  }
  if (!failure) co_return http::answer(reply.status, reply.body, reply.headers);
  if (failure->status <= 0) co_return std::string();
  const Reply refused = refusal(failure->status, failure->code);
  co_return http::answer(refused.status, refused.body, failure->headers);
}

StandIn::Reply StandIn::answer_of(const Request& request, const http::HttpServer::Call& call) {
  if (!BucketStandIn::is_call(call)) return route(request, call);
  const std::string token = header(call, "authorization");
  if (!token.starts_with("Bearer ") || !tokens_.contains(token.substr(7))) {
    return {401, "<Error><Code>InvalidToken</Code><Message>expired</Message></Error>"};
  }
  const BucketStandIn::Reply reply = bucket.serve(call);
  return {reply.status, reply.body, reply.headers};
}

StandIn::Reply StandIn::route(const Request& request, const http::HttpServer::Call& call) {
  const std::string& kind = request.path.front();
  if (kind == "token") return give_token(call);
  const std::string token = header(call, "authorization");
  if (!token.starts_with("Bearer ") || !tokens_.contains(token.substr(7))) {
    return refusal(401, "not_authorized");
  }
  if (kind != "resource_groups" &&
      (!request.query.contains("version") || !request.query.contains("generation"))) {
    return refusal(400, "missing_version");
  }
  if (request.method == "GET") return list(request);
  if (request.method == "DELETE") return remove(request);
  if (request.body.is_discarded()) return refusal(400, "bad_request");
  if (kind == "resource_groups") return make_group(request);
  if (kind == "images") return make_image(request);
  return kind == "instances" ? make_instance(request) : make_floating_ip(request);
}

StandIn::Reply StandIn::give_token(const http::HttpServer::Call& call) {
  const auto form = parameters(call.body);
  if (form.at("apikey") != "key%2Fof%20test" ||
      form.at("grant_type") != "urn%3Aibm%3Aparams%3Aoauth%3Agrant-type%3Aapikey") {
    return {400, R"({"errorCode": "BXNIM0415E", "errorMessage": "Provided API key not found."})"};
  }
  const std::string token = "token-" + std::to_string(++last_id_);
  tokens_.insert(token);
  return {200, Json{{"access_token", token}, {"expires_in", token_life}}.dump()};
}

StandIn::Reply StandIn::make_group(const Request& request) {
  const std::string name = request.body.at("name");
  if (!groups.insert(name).second) return refusal(409, "conflict");
  return {201, named("g-", name).dump()};
}

bool StandIn::is_taken(const std::string& kind, const std::string& name) const {
  const auto has_name = [&](const auto& entry) { return entry.second.name == name; };
  if (kind == "floating_ips") return std::ranges::any_of(floating_ips, has_name);
  return std::ranges::any_of(instances, has_name);
}

StandIn::Reply StandIn::make_instance(const Request& request) {
  const Json& body = request.body;
  const std::string name = body.at("name");
  const std::string group = id_in(body, "resource_group");
  if (id_in(body, "vpc") != "v-net" || !group.starts_with("g-") ||
      !groups.contains(group.substr(2)) ||
      id_in(body.at("primary_network_interface"), "subnet") != "s-inner" ||
      body.at("zone").at("name") != "north-1" || body.at("profile").at("name") != "bx2-2x8") {
    return refusal(400, "bad_field");
  }
  const std::string image = id_in(body, "image");
  const bool is_own = own_images.contains(image) && status_of(own_images[image]) == "available";
  if (!is_own && (!image.starts_with("img-") || !images.contains(image.substr(4)))) {
    return refusal(404, "image_not_found");
  }
  if (is_taken("instances", name)) return refusal(409, "name_conflict");
  if (instances.size() >= capacity) return refusal(400, "over_quota");
  Instance made{.name = name,
                .group = group.substr(2),
                .boot_disk_name = body.at("boot_volume_attachment").value("name", "chosen"),
                .made = runtime_.clock.now(),
                .body = body};
  if (!reasons.empty()) {
    made.reason = reasons.front();
    reasons.pop_front();
  }
  const std::string id = fmt::format("i-{}", ++last_id_);
  instances[id] = std::move(made);
  return {201, shown(id, instances.at(id)).dump()};
}

StandIn::Reply StandIn::make_floating_ip(const Request& request) {
  const std::string name = request.body.at("name");
  const std::string target = id_in(request.body, "target");
  const auto instance = instances.find(target.substr(std::min<std::size_t>(4, target.size())));
  if (instance == instances.end()) return refusal(400, "bad_field");
  if (is_taken("floating_ips", name)) return refusal(409, "name_conflict");
  const std::string id = fmt::format("f-{}", ++last_id_);
  floating_ips[id] = {.name = name,
                      .group = id_in(request.body, "resource_group").substr(2),
                      .target = target,
                      .made = runtime_.clock.now()};
  return {201, shown(id, floating_ips.at(id)).dump()};
}

StandIn::Reply StandIn::make_image(const Request& request) {
  const Json& body = request.body;
  const std::string name = body.at("name");
  const std::string group = id_in(body, "resource_group");
  const std::string place = std::string("cos://north-2/") + BucketStandIn::kName + "/";
  const std::string href = body.at("file").at("href");
  if (!groups.contains(group.substr(2)) || !href.starts_with(place) || name.size() > 63) {
    return refusal(400, "bad_field");
  }
  if (!bucket.objects.contains(href.substr(place.size()))) return refusal(400, "cos_not_found");
  const auto has_name = [&name](const auto& entry) { return entry.second.name == name; };
  if (std::ranges::any_of(own_images, has_name)) return refusal(409, "name_conflict");
  const std::string id = fmt::format("own-{}", ++last_id_);
  own_images[id] = {
      .name = name, .group = group.substr(2), .made = runtime_.clock.now(), .body = body};
  return {201, shown(id, own_images.at(id)).dump()};
}

// What is being made cannot be deleted.
StandIn::Reply StandIn::remove(const Request& request) {
  if (request.path[0] == "floating_ips") {
    const auto ip = floating_ips.find(request.path[1]);
    if (ip == floating_ips.end()) return refusal(404, "not_found");
    if (ip->second.deleted) return refusal(409, "invalid_state");
    ip->second.deleted = runtime_.clock.now();
    return {202, {}};
  }
  if (request.path[0] == "images") {
    const auto image = own_images.find(request.path[1]);
    if (image == own_images.end()) return refusal(404, "not_found");
    if (image->second.deleted) return refusal(409, "invalid_state");
    image->second.deleted = runtime_.clock.now();
    return {202, {}};
  }
  const auto instance = instances.find(request.path[1]);
  if (instance == instances.end()) return refusal(404, "not_found");
  const std::string status = status_of(instance->second);
  if (status == "pending" || status == "deleting") {
    return refusal(409, "instance_in_progress");
  }
  instance->second.deleted = runtime_.clock.now();
  return {204, {}};
}

std::vector<Json> StandIn::shown(const std::string& kind) const {
  std::vector<Json> all;
  if (kind == "instances") {
    for (const auto& [id, instance] : instances) all.push_back(shown(id, instance));
  } else if (kind == "floating_ips") {
    for (const auto& [id, ip] : floating_ips) all.push_back(shown(id, ip));
  } else if (kind == "vpcs") {
    all.push_back(named("v-", "net"));
  } else if (kind == "subnets") {
    Json subnet = named("s-", "inner");
    subnet["vpc"] = named("v-", "net");
    subnet["zone"]["name"] = "north-1";
    all.push_back(std::move(subnet));
  } else if (kind == "keys") {
    for (const std::string& key : keys) all.push_back(named("k-", key));
  } else if (kind == "images") {
    for (const auto& [id, image] : own_images) all.push_back(shown(id, image));
    for (const std::string& image : images) {
      Json shown = named("img-", image);
      shown["status"] = "available";
      shown["visibility"] = "public";
      shown["operating_system"] = {{"family", "Debian GNU/Linux"}, {"dedicated_host_only", false}};
      all.push_back(std::move(shown));
    }
  } else if (kind == "instance") {
    all.push_back({{"name", "bx2-2x8"},
                   {"vcpu_count", {{"type", "fixed"}, {"value", 2}}},
                   {"memory", {{"type", "range"}, {"default", 8}, {"max", 16}}}});
  }
  return all;
}

StandIn::Reply StandIn::list(const Request& request) {
  const std::string& kind = request.path.front();
  if (kind == "resource_groups") {
    Json resources = Json::array();
    for (const std::string& group : groups) resources.push_back(named("g-", group));
    return {200, Json{{"resources", std::move(resources)}}.dump()};
  }
  std::vector<Json> all = shown(kind);
  if (kind != "instance" && request.path.size() > 1) {
    for (const Json& thing : all) {
      if (thing.at("id") == request.path[1]) return {200, thing.dump()};
    }
    return refusal(404, "not_found");
  }
  if (kind == "instances" && stale_instance_lists > 0) {
    --stale_instance_lists;
    all.clear();
  }
  if (kind == "images" && stale_image_lists > 0) {
    --stale_image_lists;
    std::erase_if(all, [](const Json& image) { return image.at("visibility") == "private"; });
  }
  for (const char* filter : {"name", "visibility"}) {
    const auto wanted = request.query.find(filter);
    if (wanted == request.query.end()) continue;
    std::erase_if(all, [&](const Json& thing) { return thing.at(filter) != wanted->second; });
  }
  const auto start = request.query.find("start");
  std::size_t at = start == request.query.end() ? 0 : std::stoul(start->second.substr(6));
  Json items = Json::array();
  for (; at < all.size() && items.size() < page; ++at) items.push_back(all[at]);
  Json answer = {{kind == "instance" ? "profiles" : kind, std::move(items)}};
  if (at < all.size()) {
    answer["next"]["href"] = fmt::format("{}/v1/{}?limit={}&start=page%2{}", url(), kind, page, at);
  }
  return {200, answer.dump()};
}

}  // namespace nodepool::drivers::ibmvpc
