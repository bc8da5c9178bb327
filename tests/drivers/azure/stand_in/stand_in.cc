#include "tests/drivers/azure/stand_in/stand_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace nodepool::drivers::azure {

namespace {

using Json = StandIn::Json;

constexpr const char* kGroup = "/subscriptions/sub/resourceGroups/rg";
constexpr const char* kSubnet =
    "/subscriptions/sub/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/net/subnets/"
    "default";

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
    found[decoded(pair.substr(0, pair.find('=')))] = decoded(pair.substr(pair.find('=') + 1));
    at = end + 1;
  }
  return found;
}

std::string header(const http::HttpServer::Call& call, const std::string& name) {
  const auto found = std::ranges::find(call.headers, name, &http::Headers::value_type::first);
  return found == call.headers.end() ? "" : found->second;
}

std::string namespace_of(const std::string& type) {
  const bool is_network = type == "networkInterfaces" || type == "publicIPAddresses";
  return is_network ? "Microsoft.Network" : "Microsoft.Compute";
}

std::string name_in(const std::string& id) {
  return id.substr(id.rfind('/') + 1);
}

// The names of a machine's interfaces, or of an interface's addresses.
std::vector<std::string> parts_of(const std::string& type, const Json& body) {
  std::vector<std::string> names;
  const Json properties = body.value("properties", Json::object());
  const Json network = properties.value("networkProfile", Json::object());
  for (const Json& each : network.value("networkInterfaces", Json::array())) {
    names.push_back(name_in(each.at("id")));
  }
  if (type != "networkInterfaces") return names;
  for (const Json& each : properties.value("ipConfigurations", Json::array())) {
    const Json address = each.at("properties").value("publicIPAddress", Json::object());
    if (!address.empty()) names.push_back(name_in(address.at("id")));
  }
  return names;
}

std::vector<std::string> parts_of(const StandIn::Resource& resource) {
  return parts_of(resource.type, resource.body);
}

// The name of a machine's disk.
std::string disk_of(const StandIn::Resource& machine) {
  const Json properties = machine.body.value("properties", Json::object());
  const Json storage = properties.value("storageProfile", Json::object());
  return storage.value("osDisk", Json::object()).value("name", "");
}

// Azure may append something to the names of interfaces and addresses.
std::string id_of_part(const std::string& type, const Json& configuration) {
  return fmt::format("{}/providers/Microsoft.Network/{}/{}-5f3a", kGroup, type,
                     configuration.at("name").get<std::string>());
}

}  // namespace

std::string StandIn::vhd_footer() {
  std::string footer = "conectix";
  footer.resize(512);
  return footer;
}

std::string StandIn::auth_file() const {
  return Json{{"clientId", "client"},
              {"clientSecret", "secret"},
              {"subscriptionId", "sub"},
              {"tenantId", "tenant"},
              {"activeDirectoryEndpointUrl", url()},
              {"resourceManagerEndpointUrl", url()}}
      .dump();
}

std::vector<StandIn::Resource*> StandIn::all(const std::string& type) {
  settle();
  std::vector<Resource*> found;
  for (auto& [key, resource] : resources_) {
    if (key.first == type) found.push_back(&resource);
  }
  return found;
}

StandIn::Resource* StandIn::find(const std::string& type, const std::string& name) {
  settle();
  const auto found = resources_.find({type, name});
  return found == resources_.end() ? nullptr : &found->second;
}

StandIn::Resource& StandIn::add(const std::string& type, const std::string& name, Json body) {
  Resource& added = resources_[{type, name}];
  added = {.type = type,
           .name = name,
           .body = std::move(body),
           .id = std::to_string(++last_id_),
           .ready = runtime_.clock.now()};
  return added;
}

void StandIn::settle() {
  const auto now = runtime_.clock.now();
  std::vector<std::pair<std::string, std::string>> orphans;
  std::erase_if(resources_, [&](const auto& entry) {
    const Resource& resource = entry.second;
    const bool is_gone = resource.deleted && now >= *resource.deleted + operation_time;
    if (!is_gone || resource.type != "virtualMachines") return is_gone;
    for (const std::string& name : parts_of(resource))
      orphans.emplace_back("networkInterfaces", name);
    orphans.emplace_back("disks", disk_of(resource));
    return true;
  });
  if (lacks_cascade) return;
  for (std::size_t i = 0; i < orphans.size(); ++i) {
    const auto found = resources_.find(orphans[i]);
    if (found == resources_.end()) continue;
    for (const std::string& name : parts_of(found->second)) {
      orphans.emplace_back("publicIPAddresses", name);
    }
    if (!found->second.deleted) found->second.deleted = now;
  }
}

std::string StandIn::state_of(const Resource& resource) const {
  if (resource.deleted || resource.is_hanging) return "Deleting";
  if (runtime_.clock.now() < resource.ready) {
    return resource.type == "virtualMachines" ? "Creating" : "Updating";
  }
  return resource.error.empty() ? "Succeeded" : "Failed";
}

Json StandIn::shown(const Resource& resource) const {
  Json answer = resource.body;
  answer["name"] = resource.name;
  answer["id"] = fmt::format("{}/providers/{}/{}/{}", kGroup, namespace_of(resource.type),
                             resource.type, resource.name);
  Json& properties = answer["properties"];
  properties["provisioningState"] = state_of(resource);
  if (properties.contains("osProfile")) properties["osProfile"].erase("adminPassword");
  const bool is_ready = runtime_.clock.now() >= resource.ready;
  if (resource.type == "publicIPAddresses" && is_ready) {
    const bool is_ipv6 = properties["publicIPAddressVersion"] == "IPv6";
    properties["ipAddress"] = (is_ipv6 ? "2001:db8::" : "192.0.2.") + resource.id;
  }
  if (resource.type == "networkInterfaces") {
    for (Json& each : properties["ipConfigurations"]) {
      const bool is_ipv6 = each["properties"]["privateIPAddressVersion"] == "IPv6";
      each["properties"]["privateIPAddress"] = (is_ipv6 ? "fd00::" : "10.0.0.") + resource.id;
    }
  }
  if (resource.type == "virtualMachines") return answer;  // nothing uses it
  for (const auto& [key, user] : resources_) {
    if (resource.type == "disks" && disk_of(user) == resource.name) {
      answer["managedBy"] = user.name;
    }
    const std::vector<std::string> used = parts_of(user);
    if (std::ranges::find(used, resource.name) == used.end()) continue;
    properties[resource.type == "networkInterfaces" ? "virtualMachine" : "ipConfiguration"] = {
        {"id", user.name}};
  }
  if (resource.type == "disks") properties["diskState"] = resource.disk_state;
  return answer;
}

// The URL of an operation.
std::string StandIn::begin(async::Clock::TimePoint done, const std::string& error, Json result) {
  const std::string name = std::to_string(++last_id_);
  operations_[name] = {.done = done, .error = error, .result = std::move(result)};
  return fmt::format(
      "{}/subscriptions/sub/providers/Microsoft.Compute/locations/l/operations/{}"
      "?c={}&s=x",
      url(), name, std::string(3000, 'x'));
}

StandIn::Reply StandIn::refusal(int status, const std::string& code, const std::string& message) {
  return {status, Json{{"error", {{"code", code}, {"message", message}}}}.dump(), {}};
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
                  .body = Json::parse(call.body, nullptr, false),
                  .call = call};
  const std::size_t question = std::min(call.target.find('?'), call.target.size());
  const std::string target = call.target.substr(0, question);
  if (question < call.target.size()) request.query = parameters(call.target.substr(question + 1));
  for (std::size_t at = 1; at < target.size();) {
    const std::size_t end = std::min(target.find('/', at), target.size());
    request.path.push_back(decoded(target.substr(at, end - at)));
    at = end + 1;
  }
  std::vector<std::string>& path = request.path;
  std::string name = call.method + " ";
  if (path.front() != "subscriptions") {
    name += path.back().starts_with("disk") ? "blob" : path.back();
  } else {
    const auto provider = std::ranges::find(path, "providers");
    path.erase(path.begin(), provider == path.end() ? path.begin() + 2 : provider + 2);
    if (!path.empty() && path[0] == "locations") path.erase(path.begin(), path.begin() + 2);
    name += path.front();
    if (path.size() > 1 && path[0] != "operations") name += "/NAME";
    if (path.size() > 2) name += "/" + path[2];
    if (request.query.contains("statusOnly")) name += "?statusOnly";
  }
  calls_[name].push_back(call);
  const std::optional<Failure> failure = next_failure(name);
  settle();
  Reply reply;
  if (!failure || failure->status < 0) reply = route(request);
  if (latency > async::Duration::zero()) {
    ++held_back_;
    co_await runtime_.clock.sleep_for(latency);
    --held_back_;
  }
  if (!failure) co_return http::answer(reply.status, reply.body, reply.headers + headers);
  if (failure->status == 0 || failure->status == -1) co_return std::string();
  const Reply refused = refusal(std::abs(failure->status), failure->code, failure->message);
  co_return http::answer(refused.status, refused.body, failure->headers);
}

StandIn::Reply StandIn::route(const Request& request) {
  const std::vector<std::string>& path = request.path;
  if (path.back() == "token") return give_token(request.call);
  if (path.front() == "blobs") return serve_blob(request);
  const std::string token = header(request.call, "authorization");
  if (!token.starts_with("Bearer ") || !tokens_.contains(token.substr(7))) {
    return refusal(401, "ExpiredAuthenticationToken", "The access token has expired.");
  }
  if (path.front() == "resourceGroups") return serve_group(request);
  if (path.front() == "operations" || path.front() == "skus" || path.front() == "usages" ||
      path.front() == "virtualNetworks") {
    return serve_subscription(request);
  }
  if (!has_group) return refusal(404, "ResourceGroupNotFound", "Resource group 'rg' not found.");
  if (path.size() == 1) return list(request, path[0]);
  if (request.method == "PUT") return put(request, path[0], path[1]);
  const auto found = resources_.find({path[0], path[1]});
  if (found == resources_.end()) {
    return request.method == "DELETE" ? Reply{204} : refusal(404, "ResourceNotFound", "is no more");
  }
  if (request.method == "GET") return {200, shown(found->second).dump()};
  if (request.method == "POST") return act(request, found->second);
  return remove(found->second);
}

StandIn::Reply StandIn::give_token(const http::HttpServer::Call& call) {
  const auto form = parameters(call.body);
  const auto secret = form.find("client_secret");
  if (call.target != "/tenant/oauth2/v2.0/token" || secret == form.end() ||
      secret->second != "secret" || form.at("scope") != url() + "/.default") {
    return {401, R"({"error": "invalid_client", "error_description": "AADSTS7000215"})"};
  }
  const std::string token = "token-" + std::to_string(++last_id_);
  tokens_.insert(token);
  return {200, fmt::format(R"({{"access_token": "{}", "expires_in": 3599}})", token)};
}

StandIn::Reply StandIn::serve_group(const Request& request) {
  if (request.method == "PUT") has_group = true;
  if (!has_group) return refusal(404, "ResourceGroupNotFound", "Resource group 'rg' not found.");
  return {200,
          Json{{"name", "rg"}, {"id", kGroup}, {"properties", {{"provisioningState", group_state}}}}
              .dump()};
}

StandIn::Reply StandIn::serve_subscription(const Request& request) {
  const std::string& what = request.path.front();
  if (what == "operations") {
    const auto found = operations_.find(request.path.at(1));
    if (found == operations_.end()) return refusal(404, "NotFound", "no such operation");
    Json answer = {{"status", "InProgress"}};
    if (runtime_.clock.now() >= found->second.done) {
      answer["status"] = found->second.error.empty() ? "Succeeded" : "Failed";
      if (!found->second.error.empty()) {
        answer["error"] = {{"code", found->second.error}, {"message", "as the test wants it"}};
      } else if (!found->second.result.is_null()) {
        answer["properties"] = {{"output", found->second.result}};
      }
    }
    return {200, answer.dump()};
  }
  if (what == "virtualNetworks") {
    return request.call.target.starts_with(kSubnet) ? Reply{200, R"({"name": "default"})"}
                                                    : refusal(404, "NotFound", "no such subnet");
  }
  Json items = Json::array();
  if (what == "usages") {
    const std::size_t used = all("virtualMachines").size() + others;
    for (const auto& [name, each] : {std::pair("cores", 2U), std::pair("standardDSv3Family", 2U),
                                     std::pair("virtualMachines", 1U)}) {
      items.push_back(
          {{"limit", each * capacity}, {"currentValue", each * used}, {"name", {{"value", name}}}});
    }
    items.push_back({{"limit", 1}, {"name", {{"value", "availabilitySets"}}}});
  } else {
    items.push_back({{"resourceType", has_size ? "virtualMachines" : "disks"},
                     {"name", "Standard_D2s_v3"},
                     {"family", "standardDSv3Family"},
                     {"capabilities", Json::array({{{"name", "vCPUs"}, {"value", "2"}},
                                                   {{"name", "MemoryGB"}, {"value", "8"}}})}});
    if (!offers_size) items.back()["restrictions"] = Json::array({{{"type", "Location"}}});
  }
  return {200, Json{{"value", items}}.dump()};
}

// What Azure checks before it accepts a resource.
std::optional<StandIn::Reply> StandIn::refuse(const Request& request, const std::string& type,
                                              const std::string& name) {
  const auto known = resources_.find({type, name});
  if (known != resources_.end() && known->second.deleted) {
    return refusal(409, "AnotherOperationInProgress", "it is being deleted");
  }
  if (type == "virtualMachines") {
    if (known != resources_.end() &&
        known->second.request["properties"] != request.body["properties"]) {
      return refusal(409, "PropertyChangeNotAllowed", "Changing property is not allowed.");
    }
    if (known == resources_.end() && all(type).size() + others >= capacity) {
      return refusal(409, "OperationNotAllowed",
                     "as it results in exceeding approved Cores quota.");
    }
  }
  if (type == "images") {
    const std::string id =
        request.body["properties"]["storageProfile"]["osDisk"]["managedDisk"]["id"];
    const Resource* disk = find("disks", name_in(id));
    if (disk == nullptr || disk->disk_state != "Unattached") {
      return refusal(409, "OperationNotAllowed", "the disk cannot be used");
    }
  }
  return std::nullopt;
}

// What Azure makes with a machine: interfaces and their addresses as it configures them, and a
// disk.
void StandIn::make_parts(Resource& machine) {
  Json& network = machine.body["properties"]["networkProfile"];
  const Json wanted = network["networkInterfaceConfigurations"];
  network["networkInterfaces"] = Json::array();
  for (Json interface : wanted) {
    for (Json& each : interface["properties"]["ipConfigurations"]) {
      if (!each["properties"].contains("publicIPAddressConfiguration")) continue;
      const Json address = each["properties"]["publicIPAddressConfiguration"];
      const std::string id = id_of_part("publicIPAddresses", address);
      add("publicIPAddresses", name_in(id), {{"properties", address["properties"]}}).ready =
          std::max(machine.ready, runtime_.clock.now() + address_time);
      each["properties"]["publicIPAddress"] = {{"id", id}};
    }
    const std::string id = id_of_part("networkInterfaces", interface);
    add("networkInterfaces", name_in(id), {{"properties", interface["properties"]}});
    network["networkInterfaces"].push_back({{"id", id}});
  }
  add("disks", disk_of(machine), Json::object()).disk_state = "Attached";
}

StandIn::Reply StandIn::put(const Request& request, const std::string& type,
                            const std::string& name) {
  if (const auto refused = refuse(request, type, name)) return *refused;
  const auto known = resources_.find({type, name});
  if (known != resources_.end()) {
    known->second.body["tags"] = request.body["tags"];
    return {200, shown(known->second).dump()};
  }
  Resource& made = add(type, name, request.body);
  made.ready += operation_time;
  if (type == "virtualMachines") {
    made.ready += boot_time;
    if (!machine_errors.empty()) {
      made.error = machine_errors.front();
      machine_errors.pop_front();
    }
    made.request = request.body;
    make_parts(made);
  }
  if (type == "disks") {
    made.disk_state = "ReadyToUpload";
    made.blob.resize(request.body["properties"]["creationData"]["uploadSizeBytes"]);
  }
  const Resource& resource = *find(type, name);
  return {201, shown(resource).dump(),
          "Azure-AsyncOperation: " + begin(resource.ready, resource.error, nullptr) + "\r\n"};
}

StandIn::Reply StandIn::remove(Resource& resource) {
  for (const auto& [user_type, code] :
       {std::pair("virtualMachines", "NicInUse"),
        std::pair("networkInterfaces", "PublicIPAddressCannotBeDeleted")}) {
    for (Resource* user : all(user_type)) {
      const std::vector<std::string> used = parts_of(*user);
      const bool is_part =
          resource.type ==
          (std::string(user_type) == "virtualMachines" ? "networkInterfaces" : "publicIPAddresses");
      if (is_part && std::ranges::find(used, resource.name) != used.end()) {
        return refusal(400, code, "it is in use");
      }
    }
  }
  if (resource.is_accessible) {
    return refusal(409, "OperationNotAllowed", "it has an active shared access signature");
  }
  if (!resource.deleted) resource.deleted = runtime_.clock.now();
  return {
      202, "",
      "Azure-AsyncOperation: " + begin(*resource.deleted + operation_time, "", nullptr) + "\r\n"};
}

// The end of an access checks what has been written.
StandIn::Reply StandIn::act(const Request& request, Resource& disk) {
  disk.is_accessible = request.path.at(2) == "beginGetAccess";
  std::string error;
  Json result;
  if (disk.is_accessible) {
    disk.disk_state = "ActiveUpload";
    result = {{"accessSAS", fmt::format("{}/blobs/disk-{}?sig=SIGNATURE", url(), disk.name)}};
  } else if (disk.blob.ends_with(vhd_footer())) {
    disk.disk_state = "Unattached";
  } else {
    error = "InvalidVhd";
  }
  return {202, "",
          "Azure-AsyncOperation: " + begin(runtime_.clock.now() + operation_time, error, result) +
              "\r\n"};
}

StandIn::Reply StandIn::serve_blob(const Request& request) {
  Resource* disk = find("disks", request.path.at(1).substr(5));
  if (disk == nullptr || !disk->is_accessible || request.query.at("sig") != "SIGNATURE") {
    return {403, "<Error><Code>AuthenticationFailed</Code></Error>"};
  }
  if (request.query.at("comp") == "pagelist") {
    std::string pages;
    for (const auto& [first, last] : disk->written) {
      pages += fmt::format("<PageRange><Start>{}</Start><End>{}</End></PageRange>", first, last);
    }
    return {200, "<?xml version=\"1.0\"?><PageList>" + pages + "</PageList>"};
  }
  const std::string range = header(request.call, "range").substr(6);
  const std::size_t first = std::stoul(range);
  const std::size_t last = std::stoul(range.substr(range.find('-') + 1));
  if (first % 512 != 0 || (last + 1) % 512 != 0 || last >= disk->blob.size() ||
      last - first + 1 != request.call.body.size() || last - first >= (4U << 20U)) {
    return {416, "<Error><Code>InvalidPageRange</Code></Error>"};
  }
  disk->blob.replace(first, request.call.body.size(), request.call.body);
  disk->written.insert({first, last});
  return {201};
}

StandIn::Reply StandIn::list(const Request& request, const std::string& type) {
  const auto skip = request.query.find("$skiptoken");
  const std::size_t begin = skip == request.query.end() ? 0 : std::stoul(skip->second);
  std::vector<Resource*> found = all(type);
  if (type == "virtualMachines" && !lists_machines) found.clear();
  Json items = Json::array();
  for (std::size_t i = begin; i < std::min(found.size(), begin + page); ++i) {
    items.push_back(shown(*found[i]));
    if (!request.query.contains("statusOnly")) continue;
    items.back()["properties"]["instanceView"]["statuses"] = Json::array(
        {{{"code", "ProvisioningState/succeeded"}}, {{"code", "PowerState/" + found[i]->power}}});
  }
  Json answer = {{"value", items}};
  if (begin + page < found.size()) {
    answer["nextLink"] = fmt::format("{}{}/providers/{}/{}?%24skiptoken={}", url(), kGroup,
                                     namespace_of(type), type, begin + page);
  }
  return {200, answer.dump()};
}

}  // namespace nodepool::drivers::azure
