#include "drivers/openstack/api/auth_request.h"

#include <fmt/format.h>

#include "cloud/base64.h"
#include "drivers/openstack/clouds/cloud_files.h"
#include "json/json.h"

namespace nodepool::drivers::openstack {

using json::Json;

namespace {

std::string where(const Cloud& cloud) {
  return (cloud.file.empty() ? std::string() : cloud.file + ": ") + "cloud " + cloud.name;
}

std::string needed(const Cloud& cloud, std::string_view key) {
  const std::string_view value = cloud.auth_value(key);
  if (value.empty()) {
    throw CloudsError(fmt::format("{}: `auth` has no `{}`, which auth_type {} needs", where(cloud),
                                  key, cloud.auth_type));
  }
  return std::string(value);
}

// {"id": …}, or {"name": …} with its domain. `kind` is "user" or "project".
Json identified(const Cloud& cloud, const std::string& kind, const std::string& name_key) {
  Json value;
  if (const auto id = cloud.auth_value(kind + "_id"); !id.empty()) {
    value["id"] = id;
    return value;
  }
  value["name"] = needed(cloud, name_key);
  for (const std::string& prefix : {kind + "_domain_", std::string("default_domain_")}) {
    for (const std::string key : {"id", "name"}) {
      if (const auto domain = cloud.auth_value(prefix + key); !domain.empty()) {
        value["domain"][key] = domain;
        return value;
      }
    }
  }
  value["domain"]["id"] = "default";
  return value;
}

// The scope of the token; null: the user's default.
Json scope_of(const Cloud& cloud) {
  Json scope;
  const auto given = [&cloud](std::string_view key) { return !cloud.auth_value(key).empty(); };
  if (given("trust_id")) {
    scope["OS-TRUST:trust"]["id"] = cloud.auth_value("trust_id");
  } else if (given("project_id") || given("project_name")) {
    scope["project"] = identified(cloud, "project", "project_name");
  } else if (given("domain_id")) {
    scope["domain"]["id"] = cloud.auth_value("domain_id");
  } else if (given("domain_name")) {
    scope["domain"]["name"] = cloud.auth_value("domain_name");
  } else if (given("system_scope")) {
    scope["system"][std::string(cloud.auth_value("system_scope"))] = true;
  }
  return scope;
}

Json password_identity(const Cloud& cloud) {
  Json identity;
  identity["methods"] = {"password"};
  Json user = identified(cloud, "user", "username");
  user["password"] = needed(cloud, "password");
  identity["password"]["user"] = std::move(user);
  return identity;
}

Json token_identity(const Cloud& cloud) {
  Json identity;
  identity["methods"] = {"token"};
  identity["token"]["id"] = needed(cloud, "token");
  return identity;
}

Json application_credential_identity(const Cloud& cloud) {
  Json credential;
  if (const auto id = cloud.auth_value("application_credential_id"); !id.empty()) {
    credential["id"] = id;
  } else {
    credential["name"] = needed(cloud, "application_credential_name");
    credential["user"] = identified(cloud, "user", "username");
  }
  credential["secret"] = needed(cloud, "application_credential_secret");
  Json identity;
  identity["methods"] = {"application_credential"};
  identity["application_credential"] = std::move(credential);
  return identity;
}

}  // namespace

std::string token_url(const Cloud& cloud) {
  std::string url = needed(cloud, "auth_url");
  while (url.ends_with('/')) url.pop_back();
  const std::string last = url.substr(url.rfind('/') + 1);
  if (last == "v2.0" || last == "v2") url.resize(url.size() - last.size() - 1);
  if (last != "v3") url += "/v3";
  return url + "/auth/tokens";
}

std::string auth_request(const Cloud& cloud) {
  Json auth;
  const std::string& type = cloud.auth_type;
  if (type == "password" || type == "v3password") {
    auth["identity"] = password_identity(cloud);
  } else if (type == "token" || type == "v3token") {
    auth["identity"] = token_identity(cloud);
  } else if (type == "v3applicationcredential" || type == "application_credential") {
    auth["identity"] = application_credential_identity(cloud);
  } else {
    throw CloudsError(fmt::format(
        "{}: auth_type {} is not supported; use password, v3applicationcredential, token, "
        "http_basic or none",
        where(cloud), type));
  }
  // An application credential is scoped to its project.
  const Json scope = auth["identity"].contains("application_credential") ? Json() : scope_of(cloud);
  if (!scope.is_null()) auth["scope"] = scope;
  Json body;
  body["auth"] = std::move(auth);
  return body.dump();
}

std::optional<http::Headers::value_type> fixed_credentials(const Cloud& cloud) {
  if (cloud.auth_type == "none" || cloud.auth_type == "None") {
    return http::Headers::value_type("X-Auth-Token", "notused");  // as openstacksdk
  }
  if (cloud.auth_type != "http_basic") return std::nullopt;
  const std::string user = needed(cloud, "username") + ":" + needed(cloud, "password");
  return http::Headers::value_type("Authorization", "Basic " + cloud::base64(user));
}

void check_credentials(const Cloud& cloud) {
  if (!fixed_credentials(cloud)) {
    token_url(cloud);
    auth_request(cloud);
  } else if (!cloud.endpoints.contains("compute")) {
    throw CloudsError(fmt::format("{}: auth_type {} needs `compute_endpoint_override`",
                                  where(cloud), cloud.auth_type));
  }
}

std::vector<std::string> secrets_of(const Cloud& cloud) {
  std::vector<std::string> secrets;
  for (const std::string_view name : {"password", "token", "application_credential_secret"}) {
    if (const std::string_view value = cloud.auth_value(name); !value.empty()) {
      secrets.emplace_back(value);
    }
  }
  return secrets;
}

}  // namespace nodepool::drivers::openstack
