#include "drivers/openstack/clouds/cloud_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "drivers/openstack/clouds/cloud_files.h"

namespace nodepool::drivers::openstack {

namespace {

using nlohmann::json;

// Keys of `auth`, which may also be outside of it.
constexpr std::array<std::string_view, 25> kAuthKeys = {
    "auth_url",
    "username",
    "user_name",
    "user_id",
    "password",
    "token",
    "project_name",
    "project_id",
    "tenant_name",
    "tenant_id",
    "domain_id",
    "domain_name",
    "user_domain_id",
    "user_domain_name",
    "project_domain_id",
    "project_domain_name",
    "default_domain",
    "default_domain_id",
    "default_domain_name",
    "system_scope",
    "trust_id",
    "application_credential_id",
    "application_credential_name",
    "application_credential_secret",
    "passcode",
};

// The names of services in keys such as `compute_endpoint_override`.
struct ServiceKeys {
  std::string_view service;
  std::vector<std::string_view> prefixes;
};

const std::vector<ServiceKeys>& service_keys() {
  static const std::vector<ServiceKeys> kKeys = {
      {"compute", {"compute"}},
      {"network", {"network"}},
      {"image", {"image"}},
      {"identity", {"identity"}},
      {"volume", {"block_storage", "volumev3", "volume", "volumev2"}},
  };
  return kKeys;
}

const json& at(const json& object, std::string_view key) {
  static const json kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::string text_at(const json& object, std::string_view key) {
  return text_of(at(object, key));
}

bool truth_at(const json& object, std::string_view key, bool otherwise) {
  const json& value = at(object, key);
  return value.is_null() ? otherwise : truth_of(value);
}

// Normalizes alternative names, and a domain that applies to both user and project.
void settle_names(Cloud::Texts& auth) {
  const auto rename = [&auth](std::string_view from, const char* to) {
    const auto found = auth.find(from);
    if (found == auth.end()) return;
    auth.try_emplace(to, found->second);
    auth.erase(found);
  };
  rename("tenant_name", "project_name");
  rename("tenant_id", "project_id");
  rename("user_name", "username");
  rename("default_domain", "default_domain_id");
  const bool has_project = auth.contains("project_name") || auth.contains("project_id");
  for (const std::string kind : {"id", "name"}) {
    const auto found = auth.find("domain_" + kind);
    if (!has_project || found == auth.end()) continue;
    auth.try_emplace("user_domain_" + kind, found->second);
    auth.try_emplace("project_domain_" + kind, found->second);
    auth.erase(found);
  }
}

Cloud::Texts read_auth(const json& entry) {
  Cloud::Texts auth;
  const json& inner = at(entry, "auth");
  for (const auto& [key, value] : inner.items()) {
    if (!value.is_null()) auth.emplace(key, text_of(value));
  }
  for (const std::string_view key : kAuthKeys) {
    const json& value = at(entry, key);
    if (!value.is_null()) auth.try_emplace(std::string(key), text_of(value));
  }
  settle_names(auth);
  return auth;
}

std::string read_auth_type(const json& entry, const Cloud::Texts& auth) {
  std::string type = text_at(entry, "auth_type");
  if (type.empty()) type = text_at(entry, "auth_plugin");
  if (type.empty())
    type = auth.contains("token") && !auth.contains("password") ? "token" : "password";
  return type;
}

std::vector<NetworkRole> read_networks(const std::string& where, const json& entry) {
  std::vector<NetworkRole> roles;
  for (const json& network : at(entry, "networks")) {
    NetworkRole role;
    role.name = network.is_object() ? text_at(network, "name") : std::string();
    if (role.name.empty()) throw CloudsError(where + ": an entry of `networks` has no `name`");
    role.routes_externally =
        truth_at(network, "routes_ipv4_externally", truth_at(network, "routes_externally", false));
    role.nat_source = truth_at(network, "nat_source", false);
    role.nat_destination = truth_at(network, "nat_destination", false);
    role.default_interface = truth_at(network, "default_interface", false);
    roles.push_back(std::move(role));
  }
  for (const bool is_external : {true, false}) {
    const std::string key = is_external ? "external_network" : "internal_network";
    const std::string name = text_at(entry, key);
    if (name.empty()) continue;
    if (!at(entry, "networks").empty()) {
      throw CloudsError(fmt::format("{}: `{}` cannot be combined with `networks`", where, key));
    }
    roles.push_back({.name = name,
                     .routes_externally = is_external,
                     .nat_source = false,
                     .nat_destination = !is_external,
                     .default_interface = is_external});
  }
  for (const auto flag : {&NetworkRole::nat_destination, &NetworkRole::default_interface}) {
    if (std::ranges::count(roles, true, flag) > 1) {
      throw CloudsError(
          where + ": only one of `networks` can be the " +
          (flag == &NetworkRole::nat_destination ? "`nat_destination`" : "`default_interface`"));
    }
  }
  return roles;
}

void read_services(const json& entry, Cloud& cloud) {
  for (const ServiceKeys& keys : service_keys()) {
    for (const std::string_view prefix : keys.prefixes) {
      const std::string start = std::string(prefix) + "_";
      for (const char* key : {"endpoint_override", "endpoint"}) {
        const std::string url = text_at(entry, start + key);
        if (!url.empty()) cloud.endpoints.try_emplace(std::string(keys.service), url);
      }
      const std::string interface = text_at(entry, start + "interface");
      if (!interface.empty()) cloud.interfaces.try_emplace(std::string(keys.service), interface);
    }
  }
}

// Properties of every image; all but booleans are copied unchanged.
Cloud::Texts read_image_properties(const json& entry) {
  Cloud::Texts properties;
  const json& agent = at(entry, "disable_vendor_agent");
  if (!agent.is_object()) return properties;
  for (const auto& [key, value] : agent.items()) properties.emplace(key, text_of(value));
  return properties;
}

}  // namespace

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number()) return value.dump();
  return {};
}

bool truth_of(const json& value) {
  if (!value.is_string()) return value.is_boolean() && value.get<bool>();
  std::string text = value.get<std::string>();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text == "true" || text == "yes" || text == "on" || text == "1";
}

std::string_view Cloud::auth_value(std::string_view wanted) const {
  const auto found = auth.find(wanted);
  return found == auth.end() ? std::string_view() : std::string_view(found->second);
}

Cloud read_cloud(const std::string& name, const std::string& file, const json& entry,
                 const config::Environment& environment) {
  const std::string where = (file.empty() ? std::string() : file + ": ") + "cloud " + name;
  Cloud cloud;
  cloud.name = name;
  cloud.file = file;
  cloud.auth = read_auth(entry);
  cloud.auth_type = read_auth_type(entry, cloud.auth);
  cloud.region = text_at(entry, "region_name");
  for (const char* key : {"interface", "endpoint_type"}) {
    if (const std::string interface = text_at(entry, key); !interface.empty()) {
      cloud.interface = interface;
      break;
    }
  }
  read_services(entry, cloud);
  cloud.compute_microversion = text_at(entry, "compute_default_microversion");
  cloud.verify = truth_at(entry, "verify", true) && !truth_at(entry, "insecure", false);
  const auto path_at = [&](const char* key) {
    return config::expand_home(text_at(entry, key), environment);
  };
  cloud.cacert = path_at("cacert");
  cloud.cert = path_at("cert");
  cloud.key = path_at("key");
  if (const std::string format = text_at(entry, "image_format"); !format.empty()) {
    cloud.image_format = format;
  }
  cloud.image_api_use_tasks = truth_at(entry, "image_api_use_tasks", false);
  cloud.image_properties = read_image_properties(entry);
  cloud.has_network = truth_at(entry, "has_network", true);
  const json& source = at(entry, "floating_ip_source");
  const std::string source_name = text_of(source);
  cloud.has_floating_ips = !entry.contains("floating_ip_source") ||
                           (!source.is_null() && source_name != "None" && source_name != "none");
  cloud.is_private = truth_at(entry, "private", false);
  cloud.force_ipv4 = truth_at(entry, "force_ipv4", false);
  cloud.use_external_network = truth_at(entry, "use_external_network", true);
  cloud.use_internal_network = truth_at(entry, "use_internal_network", true);
  cloud.networks = read_networks(where, entry);
  return cloud;
}

}  // namespace nodepool::drivers::openstack
