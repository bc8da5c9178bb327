#include "drivers/openstack/clouds/cloud_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "config/yaml.h"
#include "drivers/openstack/clouds/cloud_entry.h"
#include "drivers/openstack/clouds/public_clouds.h"

namespace nodepool::drivers::openstack {

namespace {

using nlohmann::json;

// Variables that do not describe a cloud.
constexpr std::array<std::string_view, 7> kNoCloudOptions = {
    "cloud",      "client_config_file", "client_secure_file", "client_vendor_file",
    "cloud_name", "force_ipv4",         "prefer_ipv6"};

std::optional<std::string> variable(const config::Environment& environment, std::string_view name) {
  const auto found =
      std::ranges::find(environment, name, &std::pair<std::string, std::string>::first);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::vector<std::string> directories(const config::Environment& environment) {
  std::vector<std::string> found = {"."};
  const std::optional<std::string> home = variable(environment, "HOME");
  if (const auto xdg = variable(environment, "XDG_CONFIG_HOME"))
    found.push_back(*xdg + "/openstack");
  if (home) found.push_back(*home + "/.config/openstack");
  const std::string site = variable(environment, "XDG_CONFIG_DIRS").value_or("/etc/xdg");
  found.push_back(site.substr(0, site.find(':')) + "/openstack");
  found.emplace_back("/etc/openstack");
  return found;
}

// The search paths of a file; a file named by a variable comes first, and need not exist.
std::vector<std::string> candidates(const config::Environment& environment, std::string_view first,
                                    const std::string& stem) {
  std::vector<std::string> paths;
  if (const auto named = variable(environment, first)) paths.push_back(*named);
  for (const std::string& directory : directories(environment)) {
    for (const char* suffix : {".yaml", ".yml", ".json"}) {
      const std::string name = stem + suffix;
      paths.push_back(directory == "." ? name : fmt::format("{}/{}", directory, name));
    }
  }
  return paths;
}

std::vector<std::string> secure_file_paths(const config::Environment& environment) {
  return candidates(environment, "OS_CLIENT_SECURE_FILE", "secure");
}

std::vector<std::string> vendor_file_paths(const config::Environment& environment) {
  return candidates(environment, "OS_CLIENT_VENDOR_FILE", "clouds-public");
}

struct Document {
  std::string path;  // empty: no such file
  json content = json::object();
};

Document parsed(const std::string& path, std::string_view text) {
  Document document{.path = path, .content = config::to_json(config::parse_yaml(text, path))};
  if (document.content.is_null()) document.content = json::object();
  if (!document.content.is_object()) throw CloudsError(path + ": must be a mapping");
  return document;
}

Document read_first(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    return parsed(path, config::read_file(path));
  }
  return {};
}

json mapping_at(const Document& document, std::string_view key) {
  const auto found = document.content.find(key);
  if (found == document.content.end() || found->is_null()) return json::object();
  if (!found->is_object()) {
    throw CloudsError(fmt::format("{}: `{}` must be a mapping", document.path, key));
  }
  return *found;
}

// Overrides the keys of `under` with those of `over`, recursively in mappings.
void overlay(json& under, const json& over) {
  for (const auto& [key, value] : over.items()) {
    if (value.is_object() && under.contains(key) && under[key].is_object()) {
      overlay(under[key], value);
    } else {
      under[key] = value;
    }
  }
}

// The cloud that OS_* variables describe: OS_REGION_NAME is its region_name.
json cloud_of(const config::Environment& environment) {
  json entry = json::object();
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("OS_") || value.empty()) continue;
    std::string key = name.substr(3);
    std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
    if (std::ranges::find(kNoCloudOptions, key) == kNoCloudOptions.end()) entry[key] = value;
  }
  return entry;
}

std::string name_of_environment(const config::Environment& environment) {
  return variable(environment, "OS_CLOUD_NAME").value_or("envvars");
}

std::string choose_name(const json& clouds, const config::Environment& environment,
                        bool has_variables) {
  if (const auto named = variable(environment, "OS_CLOUD")) return *named;
  if (has_variables) return name_of_environment(environment);
  if (clouds.size() == 1) return clouds.items().begin().key();
  throw CloudsError(
      "no cloud is selected: set `cloud`, or the variable OS_CLOUD, or OS_AUTH_URL and the other "
      "OS_* variables");
}

std::string name_of_region(const json& region) {
  return region.is_object() ? text_of(region.value("name", json())) : text_of(region);
}

// The region of this name among `regions`; its end if there is none.
json::const_iterator find_region(const json& regions, const std::string& name) {
  return std::ranges::find(regions, name, name_of_region);
}

// The vendor profile of this name, from the first of these places that has it: the file
// clouds-public.yaml, and the built-in profiles.
json find_profile(const std::string& where, const std::string& profile,
                  const config::Environment& environment) {
  constexpr const char* kKey = "public-clouds";
  const Document vendors = read_first(vendor_file_paths(environment));
  const json built_in = mapping_at(parsed("built-in profiles", public_clouds()), kKey);
  for (const json& known : {mapping_at(vendors, kKey), built_in}) {
    const auto found = known.find(profile);
    if (found != known.end() && found->is_object()) return *found;
  }
  if (profile.find("://") != std::string::npos) {
    throw CloudsError(fmt::format(
        "{}: profile {} is a URL, which is not read: copy the profile into clouds-public.yaml, "
        "with a name",
        where, profile));
  }
  std::vector<std::string> names;
  for (const auto& [name, entry] : built_in.items()) names.push_back(name);
  throw CloudsError(fmt::format(
      "{}: profile {} not found: add it to clouds-public.yaml{}, or use one of {}", where, profile,
      vendors.path.empty() ? "" : " (" + vendors.path + ")", fmt::join(names, ", ")));
}

// Adds the vendor profile's values as defaults. A region that the entry itself names need not be
// one of the profile's, unless another one is wanted.
json with_profile(const std::string& where, json entry, const std::optional<std::string>& wanted,
                  const config::Environment& environment) {
  std::string profile;
  for (const char* key : {"profile", "cloud"}) {
    if (profile.empty() && entry.contains(key)) profile = text_of(entry[key]);
  }
  entry.erase("cloud");
  entry.erase("profile");
  if (profile.empty()) return entry;
  json merged = find_profile(where, profile, environment);
  const json regions = merged.value("regions", json::array());
  const std::string region = text_of(entry.value("region_name", json()));
  const bool names_selected = !region.empty() && wanted.value_or(region) == region;
  if (names_selected && find_region(regions, region) == regions.end()) merged.erase("regions");
  overlay(merged, entry);
  return merged;
}

// Selects the region among `regions`, and applies its values.
void settle_region(const std::string& where, json& entry,
                   const std::optional<std::string>& wanted) {
  const json regions = entry.value("regions", json::array());
  entry.erase("regions");
  if (wanted) entry["region_name"] = *wanted;
  if (!regions.is_array() || regions.empty()) return;
  if (!entry.contains("region_name") || entry["region_name"].is_null()) {
    entry["region_name"] = name_of_region(regions.front());
  }
  const std::string name = text_of(entry["region_name"]);
  const auto found = find_region(regions, name);
  if (found == regions.end()) {
    std::vector<std::string> names;
    std::ranges::transform(regions, std::back_inserter(names), name_of_region);
    throw CloudsError(
        fmt::format("{}: no region {} (available: {})", where, name, fmt::join(names, ", ")));
  }
  if (found->is_object()) overlay(entry, found->value("values", json::object()));
}

// Replaces `{region_name}` in URLs.
void fill_in_region(json& entry) {
  const std::string region = text_of(entry.value("region_name", json()));
  const auto fill_in = [&region](json& value) {
    constexpr std::string_view kPlace = "{region_name}";
    const std::string text = text_of(value);
    std::string filled;
    std::size_t done = 0;
    for (std::size_t at = text.find(kPlace); at != std::string::npos;
         at = text.find(kPlace, done)) {
      filled.append(text, done, at - done).append(region);
      done = at + kPlace.size();
    }
    if (done > 0) value = filled + text.substr(done);
  };
  for (const auto& [key, value] : entry.items()) {
    if (key == "auth_url" || key.contains("endpoint")) fill_in(value);
  }
  if (entry.contains("auth") && entry["auth"].contains("auth_url")) {
    fill_in(entry["auth"]["auth_url"]);
  }
}

bool forces_ipv4(const Document& document, const config::Environment& environment) {
  if (const auto forced = variable(environment, "OS_FORCE_IPV4")) return truth_of(json(*forced));
  const json client = mapping_at(document, "client");
  return truth_of(client.value("force_ipv4", json()));
}

std::string not_found(const std::string& name, const Document& document, const json& clouds,
                      const config::Environment& environment) {
  if (document.path.empty()) {
    return fmt::format("cloud {} not found: no clouds.yaml exists (searched {})", name,
                       fmt::join(cloud_file_paths(environment), ", "));
  }
  std::vector<std::string> names;
  for (const auto& [known, entry] : clouds.items()) names.push_back(known);
  return fmt::format("cloud {} not found in {} (available: {})", name, document.path,
                     fmt::join(names, ", "));
}

}  // namespace

std::vector<std::string> cloud_file_paths(const config::Environment& environment) {
  return candidates(environment, "OS_CLIENT_CONFIG_FILE", "clouds");
}

std::set<std::string> all_cloud_files(const config::Environment& environment) {
  std::set<std::string> files;
  for (const auto& paths : {cloud_file_paths(environment), secure_file_paths(environment),
                            vendor_file_paths(environment)}) {
    files.insert(paths.begin(), paths.end());
  }
  return files;
}

Cloud find_cloud(const std::optional<std::string>& name, const std::optional<std::string>& region,
                 const config::Environment& environment) {
  Document document = read_first(cloud_file_paths(environment));
  overlay(document.content, read_first(secure_file_paths(environment)).content);
  const json clouds = mapping_at(document, "clouds");
  const json variables = cloud_of(environment);
  const std::string chosen = name ? *name : choose_name(clouds, environment, !variables.empty());

  const auto found = clouds.find(chosen);
  json entry;
  if (found != clouds.end()) {
    if (!found->is_object()) {
      throw CloudsError(fmt::format("{}: cloud {} must be a mapping", document.path, chosen));
    }
    entry = *found;
  } else if (!variables.empty() && chosen == name_of_environment(environment)) {
    entry = variables;
    document.path.clear();
  } else {
    throw CloudsError(not_found(chosen, document, clouds, environment));
  }
  const std::string where =
      fmt::format("{}cloud {}", document.path.empty() ? "" : document.path + ": ", chosen);
  entry = with_profile(where, std::move(entry), region, environment);
  settle_region(where, entry, region);
  fill_in_region(entry);
  if (!entry.contains("force_ipv4")) entry["force_ipv4"] = forces_ipv4(document, environment);
  return read_cloud(chosen, document.path, entry, environment);
}

}  // namespace nodepool::drivers::openstack
