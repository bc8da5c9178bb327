#include "tests/drivers/kubernetes/stand_in/stand_in.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodepool::drivers::kubernetes {

namespace {

using Json = StandIn::Json;

bool is_below(const std::string& path, const std::string& parent) {
  return path == parent || path.starts_with(parent + "/");
}

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool has_label(const Json& thing, const std::string& key) {
  const Json metadata = thing.value("metadata", Json::object());
  return metadata.contains("labels") && metadata["labels"].contains(key);
}

// A namespace's path, also for a project.
std::string space_of(const std::string& path) {
  const std::size_t begin = path.find('/');
  if (begin == std::string::npos) return {};
  return path.substr(begin + 1, path.find('/', begin + 1) - begin - 1);
}

}  // namespace

void StandIn::fail(const std::string& call, std::vector<int> statuses, const std::string& message) {
  failures_[call] = {
      .statuses = {statuses.begin(), statuses.end()}, .message = message, .is_of_proxy = false};
}

void StandIn::fail_at_proxy(const std::string& call, std::vector<int> statuses) {
  failures_[call] = {
      .statuses = {statuses.begin(), statuses.end()}, .message = {}, .is_of_proxy = true};
}

std::optional<int> StandIn::next_failure(const std::string& call, bool is_watch) {
  std::deque<int>& of_call = failures_[call].statuses;
  std::deque<int>& statuses = of_call.empty() && !is_watch ? any_failures_ : of_call;
  if (statuses.empty()) return std::nullopt;
  const int status = statuses.front();
  statuses.pop_front();
  return status;
}

int StandIn::count(const std::string& call) const {
  return static_cast<int>(bodies(call).size());
}

std::vector<std::string> StandIn::bodies(const std::string& call) const {
  const auto found = bodies_.find(call);
  return found == bodies_.end() ? std::vector<std::string>() : found->second;
}

void StandIn::change() {
  ++changes_;
  for (async::Event* event : watching_) event->set();
}

void StandIn::end_watches() {
  change();
}

std::map<std::string, Json> StandIn::things() {
  pass_time();
  return things_;
}

void StandIn::add(const std::string& path, Json thing) {
  thing["metadata"]["name"] = last_part(path);
  const bool is_in_space = path.starts_with("namespaces/") && std::ranges::count(path, '/') > 1;
  if (is_in_space) thing["metadata"]["namespace"] = space_of(path);
  things_[path] = std::move(thing);
  change();
}

void StandIn::erase(const std::string& path) {
  std::erase_if(things_, [&path](const auto& entry) { return is_below(entry.first, path); });
  change();
}

// Nothing happens by itself but what is due.
void StandIn::pass_time() {
  const auto now = runtime_.clock.now();
  for (auto due = going_.begin(); due != going_.end();) {
    if (due->second > now) {
      ++due;
      continue;
    }
    const std::string path = due->first;
    due = going_.erase(due);
    erase(path);
    if (path.starts_with("projects/")) erase("namespaces/" + last_part(path));
  }
  for (auto due = booting_.begin(); due != booting_.end();) {
    if (due->second > now) {
      ++due;
      continue;
    }
    const auto pod = things_.find(due->first);
    if (pod != things_.end() && pod->second["status"]["phase"] == "Pending") {
      pod->second["status"] = {{"phase", "Running"}};
      pod->second["spec"]["nodeName"] = "worker-1";
    }
    due = booting_.erase(due);
    change();
  }
}

std::optional<async::Clock::TimePoint> StandIn::next_change() const {
  std::optional<async::Clock::TimePoint> next;
  for (const auto* times : {&going_, &booting_}) {
    for (const auto& [path, time] : *times) next = std::min(next.value_or(time), time);
  }
  return next;
}

StandIn::Request StandIn::parse(const http::HttpServer::Call& call) {
  Request request{.method = call.method,
                  .path = {},
                  .resource = {},
                  .query = {},
                  .body = Json::parse(call.body, nullptr, false)};
  const std::size_t question = std::min(call.target.find('?'), call.target.size());
  std::string path = call.target.substr(0, question);
  // "/api/v1/…", "/apis/GROUP/VERSION/…"
  for (int parts = path.starts_with("/apis/") ? 3 : 2; parts > 0; --parts) {
    path = path.substr(path.find('/', 1));
  }
  request.path = path.substr(1);
  const auto depth = std::ranges::count(request.path, '/');
  const bool is_single = depth % 2 == 1;
  const std::string collection =
      is_single ? request.path.substr(0, request.path.rfind('/')) : request.path;
  request.resource = last_part(collection);
  for (std::size_t at = question; at < call.target.size();) {
    const std::size_t end = std::min(call.target.find('&', at + 1), call.target.size());
    const std::string pair = call.target.substr(at + 1, end - at - 1);
    at = end;
    request.query[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
  }
  return request;
}

async::Task<std::string> StandIn::serve(const http::HttpServer::Call& call) {
  const Request request = parse(call);
  pass_time();
  const bool is_watch = request.query.contains("watch");
  const bool is_single = std::ranges::count(request.path, '/') % 2 == 1;
  std::string verb = call.method;
  if (call.method == "GET" && !is_single) verb = is_watch ? "WATCH" : "LIST";
  const std::string name = verb + " " + request.resource;
  bodies_[name].push_back(call.body);
  const std::optional<int> failure = next_failure(name, is_watch);
  Reply reply;
  if (failure.value_or(-1) < 0) {
    const bool is_forbidden = forbidden.contains(space_of(request.path));
    const bool is_denied = denied.contains(name);
    if (is_watch && !is_forgetful && !is_forbidden && !is_denied) {
      co_await hold_back(request);
      co_return http::answer(watch_status, "{\"type\": \"MODIFIED\", \"object\": {}}\n");
    }
    const bool is_refused = is_watch || is_forbidden || is_denied;
    reply = is_refused ? refusal(403, "the user may not " + name) : route(request);
  }
  if (failure && *failure <= 0) co_return std::string();
  if (failure) {
    const Failures& failures = failures_[name];
    if (failures.is_of_proxy) co_return http::answer(*failure, "<html>An error</html>");
    reply = refusal(*failure, failures.message.empty() ? "busy" : failures.message);
  }
  co_return http::answer(reply.status, reply.body.dump());
}

StandIn::Reply StandIn::refusal(int status, const std::string& message) {
  static const std::map<int, std::string> kReasons = {
      {403, "Forbidden"}, {404, "NotFound"}, {409, "Conflict"}};
  const auto reason = kReasons.find(status);
  return {.status = status,
          .body = {{"kind", "Status"},
                   {"message", message},
                   {"reason", reason == kReasons.end() ? "" : reason->second}}};
}

// Until something changes: what time brings, too.
async::Task<> StandIn::hold_back(const Request& request) {
  async::Event changed;
  watching_.insert(&changed);
  const auto seconds = std::stoi(request.query.at("timeoutSeconds"));
  auto until = runtime_.clock.now() + std::chrono::seconds(seconds);
  ++held_back_;
  const std::size_t before = changes_;
  while (changes_ == before && runtime_.clock.now() < until) {
    co_await changed.wait_until(runtime_.clock, std::min(until, next_change().value_or(until)));
    pass_time();
  }
  --held_back_;
  watching_.erase(&changed);
}

StandIn::Reply StandIn::route(const Request& request) {
  if (request.method == "POST") return make(request);
  const auto found = things_.find(request.path);
  if (request.method == "DELETE") return remove(request);
  const bool is_single = std::ranges::count(request.path, '/') % 2 == 1;
  if (!is_single) return list(request);
  if (found == things_.end()) return refusal(404, "not found");
  return {.status = 200, .body = found->second};
}

std::size_t StandIn::pods_there() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      things_, [](const auto& entry) { return entry.first.contains("/pods/"); }));
}

StandIn::Reply StandIn::make(const Request& request) {
  Json thing = request.body;
  const std::string name = thing["metadata"]["name"];
  std::string collection = request.path;
  if (collection == "projectrequests") {
    collection = "projects";
    thing["metadata"].erase("labels");  // as the default template of projects has it
    thing["metadata"]["annotations"]["openshift.io/description"] = thing.value("description", "");
  }
  const std::string path = collection + "/" + name;
  if (things_.contains(path)) {
    return {.status = 409, .body = {{"message", "exists"}, {"reason", "AlreadyExists"}}};
  }
  const bool makes_node = request.resource == "pods" || collection == space_kind;
  if (makes_node && request.resource == "pods" && pods_there() >= room) {
    return refusal(403, "forbidden: exceeded quota: q, used: pods=2");
  }
  if (request.resource == "secrets") {
    thing["data"] = {{"token", "czNjcmV0"}, {"ca.crt", "Q0E="}};
  }
  add(path, std::move(thing));
  if (collection == "projects") add("namespaces/" + name, {{"metadata", {{"name", name}}}});
  if (request.resource == "pods") {
    Json& status = things_[path]["status"];
    status = {{"phase", "Pending"}};
    booting_[path] = runtime_.clock.now() + boot_time;
    if (broken_pods > 0) {
      --broken_pods;
      status = {{"phase", "Failed"}, {"reason", "OutOfcpu"}, {"message", "Node has no cpu left"}};
    }
  }
  return {.status = 201, .body = things_[path]};
}

StandIn::Reply StandIn::remove(const Request& request) {
  const auto found = things_.find(request.path);
  if (found == things_.end()) return refusal(404, "not found");
  if (!going_.contains(request.path)) {
    found->second["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z";
    going_[request.path] = runtime_.clock.now() + deletion_time;
    change();
  }
  return {.status = 200, .body = found->second};
}

StandIn::Reply StandIn::list(const Request& request) {
  Json items = Json::array();
  const auto selector = request.query.find("labelSelector");
  for (const auto& [path, thing] : things_) {
    if (request.path == space_kind && !lists_spaces) break;
    const std::string collection = path.substr(0, path.rfind('/'));
    const bool is_everywhere = request.path == request.resource;
    const bool is_in =
        is_everywhere ? last_part(collection) == request.resource : collection == request.path;
    if (!is_in) continue;
    if (selector != request.query.end() && !has_label(thing, selector->second)) continue;
    items.push_back(thing);
  }
  return {.status = 200, .body = {{"metadata", Json::object()}, {"items", std::move(items)}}};
}

}  // namespace nodepool::drivers::kubernetes
