#include "tests/drivers/openstack/stand_in/stand_in.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nodepool::drivers::openstack {

namespace {

using Json = StandIn::Json;

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

bool is_id(const std::string& part) {
  return part.starts_with("id-");
}

// The id of the account's project.
constexpr const char* kProject = "project-of-ci";

// As Nova says that something does not exist.
constexpr const char* kItemNotFound = R"({"itemNotFound": {"code": 404, "message": "not there"}})";

// The same of Neutron.
constexpr const char* kNeutronNotFound =
    R"({"NeutronError": {"type": "HTTPNotFound", "message": "not there", "detail": ""}})";

// The things whose members are what the query says.
Json filtered(const std::map<std::string, Json>& things,
              const std::map<std::string, std::string>& query) {
  Json list = Json::array();
  for (const auto& [id, thing] : things) {
    const bool fits = std::ranges::all_of(query, [&thing = thing](const auto& wanted) {
      return wanted.first == "limit" || thing.value(wanted.first, Json()) == wanted.second;
    });
    if (fits) list.push_back(thing);
  }
  return list;
}

}  // namespace

int StandIn::count(const std::string& call) const {
  const auto found = counts_.find(call);
  return found == counts_.end() ? 0 : static_cast<int>(found->second.size());
}

std::map<std::string, int> StandIn::calls() const {
  std::map<std::string, int> all;
  for (const auto& [call, bodies] : counts_) all[call] = static_cast<int>(bodies.size());
  return all;
}

int StandIn::count_all(const std::string& prefix) const {
  int sum = 0;
  for (const auto& [call, bodies] : counts_) {
    if (call.starts_with(prefix)) sum += static_cast<int>(bodies.size());
  }
  return sum;
}

std::vector<std::string> StandIn::bodies(const std::string& call) const {
  const auto found = counts_.find(call);
  return found == counts_.end() ? std::vector<std::string>() : found->second;
}

void StandIn::fail(const std::string& call, std::vector<int> statuses, const std::string& message) {
  failures_[call] = {{statuses.begin(), statuses.end()}, message};
}

std::optional<int> StandIn::next_failure(const std::string& call, bool authenticates) {
  std::deque<int>& of_call = failures_[call].statuses;
  std::deque<int>& statuses = of_call.empty() && !authenticates ? any_failures_ : of_call;
  if (statuses.empty()) return std::nullopt;
  const int status = statuses.front();
  statuses.pop_front();
  return status;
}

std::string StandIn::new_id() {
  return fmt::format("id-{:08}", ++next_id_);
}

std::string StandIn::add_server(const std::string& name, const std::string& flavor,
                                const Json& metadata) {
  const std::string id = new_id();
  made_[id] = runtime_.clock.now();
  const std::string address = fmt::format("10.0.{}.{}", next_id_ / 250, next_id_ % 250 + 1);
  servers[id] = {{"id", id},
                 {"name", name},
                 {"status", "BUILD"},
                 {"flavor", {{"id", flavor}}},
                 {"hostId", "host-1"},
                 {"OS-EXT-STS:task_state", next_task},
                 {"accessIPv4", ""},
                 {"accessIPv6", ""},
                 {"addresses", Json::object()},
                 {"metadata", metadata},
                 {"os-extended-volumes:volumes_attached", Json::array()},
                 {"OS-EXT-AZ:availability_zone", "az1"}};
  servers[id]["addresses"][network_of_servers] = Json::array({{{"addr", address},
                                                               {"version", 4},
                                                               {"OS-EXT-IPS:type", "fixed"},
                                                               {"OS-EXT-IPS-MAC:mac_addr", id}}});
  const auto network = std::ranges::find_if(
      networks, [this](const Json& n) { return n["name"] == network_of_servers; });
  add_port(id, network == networks.end() ? "" : network->at("id").get<std::string>(), address,
           "compute:az1", "ACTIVE");
  return id;
}

std::string StandIn::add_port(const std::string& device, const std::string& network,
                              const std::string& address, const std::string& owner,
                              const std::string& status) {
  const std::string id = new_id();
  ports[id] = {{"id", id},
               {"network_id", network},
               {"device_id", device},
               {"device_owner", owner},
               {"status", status},
               {"created_at", "2026-11-21T00:00:00Z"},
               {"fixed_ips", Json::array({{{"ip_address", address}}})}};
  return id;
}

std::string StandIn::add_image(const std::string& name) {
  const std::string id = new_id();
  images[id] = {{"id", id}, {"name", name}, {"status", "active"}, {"visibility", "public"}};
  return id;
}

async::Task<std::string> StandIn::serve(const http::HttpServer::Call& call) {
  Request request{.method = call.method,
                  .service = {},
                  .path = {},
                  .query = {},
                  .body = Json::parse(call.body, nullptr, false),
                  .raw = call.body};
  const std::size_t question = std::min(call.target.find('?'), call.target.size());
  std::string name = call.method + " ";
  for (std::size_t at = 0; at < question;) {
    const std::size_t end = std::min(call.target.find('/', at + 1), question);
    const std::string part = call.target.substr(at + 1, end - at - 1);
    at = end;
    const bool is_version = part.starts_with("v") && part.size() < 5;
    if (is_version || part == "project") continue;
    name += "/" + (is_id(part) ? "ID" : part);
    request.service.empty() ? request.service = part : request.path.emplace_back(part);
  }
  for (std::size_t at = question; at < call.target.size();) {
    const std::size_t end = std::min(call.target.find('&', at + 1), call.target.size());
    const std::string pair = call.target.substr(at + 1, end - at - 1);
    at = end;
    request.query[pair.substr(0, pair.find('='))] = decoded(pair.substr(pair.find('=') + 1));
  }
  counts_[name].push_back(call.body);
  const std::optional<int> failure = next_failure(name, request.service == "identity");
  Reply reply;
  if (failure.value_or(-1) < 0) reply = route(request, call);
  if (latency > async::Duration::zero()) {
    ++held_back_;
    co_await runtime_.clock.sleep_for(latency);
    --held_back_;
  }
  const std::string id = fmt::format("{}: req-{}\r\n", request_id_header, ++answers_);
  if (!failure) co_return http::answer(reply.status, reply.body, reply.headers + id);
  if (*failure == -2) co_return http::answer(reply.status, "<html>");
  if (*failure <= 0) co_return std::string();
  std::string message = failures_[name].message;
  if (message == "REQUEST") message = fmt::format("{} {}", fmt::join(call.headers, " "), call.body);
  const bool is_proxy = message.starts_with("<");
  co_return http::answer(
      *failure, is_proxy ? message : Json{{"error", {{"message", message}}}}.dump(),
      (*failure == 429 ? "Retry-After: 0\r\n" : "") + (is_proxy ? std::string() : id));
}

StandIn::Reply StandIn::route(const Request& request, const http::HttpServer::Call& call) {
  if (request.service == "identity") return identity(request);
  const auto token =
      std::ranges::find(call.headers, "x-auth-token", &http::Headers::value_type::first);
  const bool has_token = token != call.headers.end() && tokens_.contains(token->second);
  const bool is_known = credentials && std::ranges::count(call.headers, *credentials) > 0;
  if (!has_token && !is_known) return {401, "{}"};
  if (request.service == "compute") return compute(request);
  if (request.service == "network") return network(request);
  if (request.service == "image") return image(request);
  if (request.service == "volume") return volume(request);
  return {404, "{}"};
}

StandIn::Reply StandIn::identity(const Request& request) {
  const Json& user = request.body["auth"]["identity"]["password"]["user"];
  if (user.value("password", "") != password) return {401, R"({"error": {"message": "no"}})"};
  const std::string token = "token-" + std::to_string(++next_id_);
  tokens_.insert(token);
  Json catalog = Json::array();
  const auto add = [&](const char* type, const std::string& path) {
    catalog.push_back({{"type", type},
                       {"endpoints", Json::array({{{"interface", "public"},
                                                   {"region_id", "north"},
                                                   {"url", url() + path}}})}});
  };
  add("compute", "/compute/v2.1");
  add("network", "/network");
  add("image", "/image");
  if (has_volume_service) add("volumev3", "/volume/v3/project");
  const int life = std::stoi(token_life);
  const std::string end = fmt::format("2026-11-21T{:02}:{:02}:{:02}.000000Z", 1 + life / 3600,
                                      life / 60 % 60, life % 60);
  return {201,
          Json{{"token",
                {{"issued_at", "2026-11-21T01:00:00.000000Z"},
                 {"expires_at", end},
                 {"project", {{"id", kProject}, {"name", "ci"}}},
                 {"catalog", catalog}}}}
              .dump(),
          "X-Subject-Token: " + token + "\r\n"};
}

void StandIn::let_boot(Json& server) {
  const std::string id = server["id"];
  if (server["status"] != "BUILD" || ++looks_[id] <= looks_until_active) return;
  if (runtime_.clock.now() < made_[id] + boot_time) return;
  const bool is_broken = broken_.contains(id);
  server["status"] = is_broken ? "ERROR" : next_status;
  const std::string fault = is_broken ? "No valid host was found." : next_fault;
  if (!fault.empty()) server["fault"] = {{"code", 500}, {"message", fault}};
}

StandIn::Reply StandIn::list_servers(const Request& request) {
  if (servers_answer) return {200, *servers_answer};
  Json list = Json::array();
  Json answer;
  const auto marker = request.query.find("marker");
  auto next = marker == request.query.end() || endless_pages ? servers.begin()
                                                             : servers.upper_bound(marker->second);
  for (; next != servers.end() && list.size() < page; ++next) {
    let_boot(next->second);
    list.push_back(next->second);
  }
  if (next != servers.end() || endless_pages) {
    answer["servers_links"] =
        Json::array({{{"rel", "next"},
                      {"href", "http://wrong.example.org/servers/detail?marker=" +
                                   list.back()["id"].get<std::string>()}}});
  }
  answer["servers"] = list;
  return {200, answer.dump() + std::string(page_padding, ' ')};
}

StandIn::Reply StandIn::create_server(const Request& request) {
  const Json& wanted = request.body["server"];
  if (servers.size() >= room) {
    const std::string message = fmt::format(
        "Quota exceeded for instances: Requested 1, but already used {} of {} instances",
        servers.size(), room);
    return {403, Json{{"forbidden", {{"code", 403}, {"message", message}}}}.dump()};
  }
  const std::string id = add_server(wanted["name"], wanted["flavorRef"], wanted["metadata"]);
  if (broken_servers > 0) {
    --broken_servers;
    broken_.insert(id);
  }
  if (wanted.contains("block_device_mapping_v2")) {
    const std::string volume = new_id();
    const std::string size = wanted["block_device_mapping_v2"][0]["volume_size"];
    volumes.push_back({{"id", volume}, {"size", std::stoi(size)}});
    servers[id]["os-extended-volumes:volumes_attached"] = Json::array({{{"id", volume}}});
  }
  return {202, Json{{"server", {{"id", id}, {"links", Json::array()}}}}.dump()};
}

StandIn::Reply StandIn::compute(const Request& request) {
  const std::string& what = request.path[0];
  if (what == "flavors") return {200, Json{{"flavors", flavors}}.dump()};
  if (what == "os-availability-zone") {
    return {200, R"({"availabilityZoneInfo": [
        {"zoneName": "az1", "zoneState": {"available": true}},
        {"zoneName": "broken", "zoneState": {"available": false}}]})"};
  }
  if (what == "limits") {
    return {200, fmt::format(R"({{"limits": {{"rate": [], "absolute": {{"maxTotalInstances": {},
        "maxTotalCores": -1, "maxTotalRAMSize": {}}}}}}})",
                             room, ram)};
  }
  if (what != "servers") return {404, kItemNotFound};
  if (request.method == "POST" && request.path.size() == 1) return create_server(request);
  if (request.path.size() > 2) return {200, R"({"output": "login:"})"};
  if (request.method == "GET" && request.path[1] == "detail") return list_servers(request);
  if (request.method == "GET") {
    const auto found = servers.find(request.path[1]);
    if (found == servers.end()) return {404, kItemNotFound};
    return {200, Json{{"server", found->second}}.dump()};
  }
  if (servers.contains(request.path[1]) && failing_deletions > 0) {
    --failing_deletions;
    servers[request.path[1]]["status"] = "ERROR";
    servers[request.path[1]]["fault"] = {{"message", "the host does not answer"}};
    return {204, ""};
  }
  if (servers.erase(request.path[1]) == 0) return {404, kItemNotFound};
  std::erase_if(ports,
                [&](const auto& port) { return port.second["device_id"] == request.path[1]; });
  return {204, ""};
}

StandIn::Reply StandIn::create_floating_ip(const Request& request) {
  Json floating_ip = request.body["floatingip"];
  const std::string id = new_id();
  floating_ip["id"] = id;
  floating_ip["floating_ip_address"] = fmt::format("198.51.100.{}", next_id_ % 250 + 1);
  floating_ip["status"] = "DOWN";
  const std::string port = floating_ip["port_id"];
  floating_ip["port_details"] = {{"device_id", ports[port]["device_id"]}};
  floating_ips[id] = floating_ip;
  return {201, Json{{"floatingip", floating_ip}}.dump()};
}

StandIn::Reply StandIn::network(const Request& request) {
  const std::string& what = request.path[0];
  if (what == "networks") return {200, Json{{"networks", networks}}.dump()};
  if (what == "subnets") return {200, Json{{"subnets", subnets}}.dump()};
  if (what != "ports" && !has_routers) return {404, kNeutronNotFound};
  auto& things = what == "ports" ? ports : floating_ips;
  if (request.method == "DELETE" && things.erase(request.path[1]) == 0) {
    return {404, kNeutronNotFound};
  }
  if (request.method == "DELETE") return {204, ""};
  if (request.method == "POST") return create_floating_ip(request);
  Json answer;
  answer[what] = filtered(things, request.query);
  for (auto& [id, floating_ip] : floating_ips) floating_ip["status"] = floating_ip_status;
  return {200, answer.dump()};
}

StandIn::Reply StandIn::image(const Request& request) {
  if (request.path.size() == 1 && request.method == "GET") {
    return {200, Json{{"images", filtered(images, request.query)}}.dump()};
  }
  if (request.method == "POST") {
    const std::string id = new_id();
    images[id] = request.body;
    images[id]["id"] = id;
    images[id]["owner"] = kProject;
    images[id]["status"] = "queued";
    return {201, images[id].dump()};
  }
  const std::string& id = request.path[1];
  if (!images.contains(id)) return {404, "{}"};
  if (request.method == "PUT") {
    if (images[id]["status"] != "queued") return {409, "{}"};
    image_files[id] = request.raw;
    images[id]["size"] = image_files_are_cut ? 1 : request.raw.size();
    images[id]["status"] = "saving";
    return {204, ""};
  }
  if (request.method == "DELETE") {
    images.erase(id);
    return {204, ""};
  }
  if (images[id]["status"] == "saving" && ++looks_[id] > looks_until_image) {
    images[id]["status"] = image_status;
  }
  return {200, images[id].dump()};
}

StandIn::Reply StandIn::volume(const Request& request) {
  if (request.path[0] == "volumes") return {200, Json{{"volumes", volumes}}.dump()};
  return {200, R"({"limits": {"rate": [], "absolute": {"maxTotalVolumes": 20,
      "maxTotalVolumeGigabytes": 1000}}})"};
}

}  // namespace nodepool::drivers::openstack
