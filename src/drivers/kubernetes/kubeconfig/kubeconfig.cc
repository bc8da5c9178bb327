#include "drivers/kubernetes/kubeconfig/kubeconfig.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "cloud/base64.h"
#include "config/yaml.h"

namespace nodepool::drivers::kubernetes {

namespace {

using nlohmann::json;

// Unsupported keys. Ignoring them would select another cluster or user.
struct Unsupported {
  const char* key;
  const char* instead;
};
constexpr Unsupported kUnsupportedOfUser[] = {
    {"auth-provider", "an exec plug-in"},
    {"as-uid", "`as` and `as-groups`"},
    {"as-user-extra", "`as` and `as-groups`"},
};
constexpr Unsupported kUnsupportedOfCluster[] = {
    {"tls-server-name", "a server name that is in the certificate"},
};

std::vector<std::string> paths_of(const config::Environment& environment) {
  const std::string list = config::variable(environment, "KUBECONFIG");
  if (list.empty()) {
    const std::string home = config::variable(environment, "HOME");
    return {(home.empty() ? "" : home) + "/.kube/config"};
  }
  std::vector<std::string> paths;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    if (end > at) paths.push_back(config::expand_home(list.substr(at, end - at), environment));
    at = end + 1;
  }
  return paths;
}

// A kubeconfig or one of its entries, with its file.
struct Part {
  json content = json::object();
  std::string file;
  std::string what;  // "context ci", for messages

  [[noreturn]] void fail(const std::string& problem) const {
    throw KubeconfigError(fmt::format("{}: {}{}{}", file, what, what.empty() ? "" : ": ", problem));
  }

  const json* find(std::string_view key) const {
    const auto found = content.find(key);
    return found == content.end() || found->is_null() ? nullptr : &*found;
  }

  std::string text(std::string_view key) const {
    const json* value = find(key);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    if (value->is_structured()) fail(fmt::format("`{}` must be a text", key));
    return value->dump();
  }

  bool truth(std::string_view key) const {
    const json* value = find(key);
    if (value != nullptr && !value->is_boolean()) fail(fmt::format("`{}` must be a boolean", key));
    return value != nullptr && value->get<bool>();
  }

  const json& list(std::string_view key) const {
    static const json kNone = json::array();
    const json* value = find(key);
    if (value != nullptr && !value->is_array()) fail(fmt::format("`{}` must be a list", key));
    return value == nullptr ? kNone : *value;
  }

  std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> found;
    for (const json& item : list(key)) {
      if (!item.is_string()) fail(fmt::format("`{}` must be a list of texts", key));
      found.push_back(item.get<std::string>());
    }
    return found;
  }

  // Paths in a kubeconfig are relative to its directory.
  std::string path(const std::string& given) const {
    if (given.empty() || given.starts_with('/')) return given;
    return (std::filesystem::path(file).parent_path() / given).string();
  }

  // `KEY-data` is the content in base64; it overrides the file `KEY`.
  TextOrFile text_or_file(const std::string& key) const {
    const std::string data = text(key + "-data");
    if (data.empty()) return {.text = {}, .file = path(text(key))};
    const std::optional<std::string> decoded = cloud::base64_decoded(data);
    if (!decoded || decoded->empty()) fail(fmt::format("`{}-data` is not base64", key));
    return {.text = *decoded, .file = {}};
  }

  template <std::size_t N>
  void refuse(const Unsupported (&unsupported)[N]) const {
    for (const Unsupported& entry : unsupported) {
      if (find(entry.key) == nullptr) continue;
      fail(fmt::format("`{}` is not supported: use {}", entry.key, entry.instead));
    }
  }
};

std::vector<Part> read_files(const config::Environment& environment) {
  std::vector<Part> files;
  for (const std::string& path : paths_of(environment)) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    Part part;
    part.file = path;
    part.content = config::to_json(config::parse_yaml(config::read_file(path), path));
    if (part.content.is_null()) part.content = json::object();
    if (!part.content.is_object()) part.fail("must be a mapping");
    files.push_back(std::move(part));
  }
  return files;
}

// Finds an entry in a list of named entries: {"name": …, KEY: {…}}.
Part entry_of(const std::vector<Part>& files, const std::string& list, const std::string& key,
              const std::string& name) {
  for (const Part& file : files) {
    for (const json& item : file.list(list)) {
      if (!item.is_object() || item.value("name", json()) != name) continue;
      Part entry{.content = item.value(key, json::object()),
                 .file = file.file,
                 .what = fmt::format("{} {}", key, name)};
      if (entry.content.is_null()) entry.content = json::object();
      if (!entry.content.is_object()) entry.fail("must be a mapping");
      return entry;
    }
  }
  std::string names;
  for (const Part& file : files) names += (names.empty() ? "" : ", ") + file.file;
  throw KubeconfigError(fmt::format("no {} `{}` in {}", key, name, names));
}

std::string current_context(const std::vector<Part>& files) {
  for (const Part& file : files) {
    if (std::string name = file.text("current-context"); !name.empty()) return name;
  }
  files.front().fail("no `current-context`: set `context`");
}

ExecPlugin read_exec(const Part& user) {
  const Part exec{.content = *user.find("exec"), .file = user.file, .what = user.what + ": exec"};
  if (!exec.content.is_object()) exec.fail("must be a mapping");
  ExecPlugin plugin;
  plugin.command = exec.text("command");
  if (plugin.command.empty()) exec.fail("`command` is missing");
  if (plugin.command.contains('/')) plugin.command = exec.path(plugin.command);
  plugin.arguments = exec.texts("args");
  for (const json& item : exec.list("env")) {
    const Part pair{.content = item, .file = exec.file, .what = exec.what + ": env"};
    if (!item.is_object()) pair.fail("must be a list of mappings");
    plugin.environment.emplace_back(pair.text("name"), pair.text("value"));
  }
  plugin.api_version = exec.text("apiVersion");
  const bool is_known = plugin.api_version == "client.authentication.k8s.io/v1" ||
                        plugin.api_version == "client.authentication.k8s.io/v1beta1";
  if (!is_known) {
    exec.fail("`apiVersion` must be client.authentication.k8s.io/v1 or …/v1beta1");
  }
  if (exec.text("interactiveMode") == "Always") {
    exec.fail("`interactiveMode: Always` is not supported, as it needs a prompt");
  }
  plugin.wants_cluster = exec.truth("provideClusterInfo");
  plugin.install_hint = exec.text("installHint");
  return plugin;
}

void read_user(const Part& user, Cluster& cluster) {
  user.refuse(kUnsupportedOfUser);
  cluster.client_cert = user.text_or_file("client-certificate");
  cluster.client_key = user.text_or_file("client-key");
  if (cluster.client_cert.empty() != cluster.client_key.empty()) {
    user.fail("a client certificate and its key must be set together");
  }
  cluster.token = user.text("token");
  // As in client-go, the file overrides the text.
  cluster.token_file = user.path(user.text("tokenFile"));
  cluster.username = user.text("username");
  cluster.password = user.text("password");
  if (user.find("exec") != nullptr) cluster.exec = read_exec(user);
  cluster.impersonated_user = user.text("as");
  cluster.impersonated_groups = user.texts("as-groups");
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '/' || text.back() == '\n')) text.pop_back();
  return text;
}

Cluster read_cluster(const std::vector<Part>& files, const std::string& name) {
  const Part context = entry_of(files, "contexts", "context", name);
  const Part entry = entry_of(files, "clusters", "cluster", context.text("cluster"));
  entry.refuse(kUnsupportedOfCluster);
  Cluster cluster;
  cluster.context = name;
  cluster.server = trimmed(entry.text("server"));
  const bool is_url =
      cluster.server.starts_with("https://") || cluster.server.starts_with("http://");
  if (!is_url) entry.fail("`server` must be an https:// URL");
  cluster.ca = entry.text_or_file("certificate-authority");
  cluster.verify = !entry.truth("insecure-skip-tls-verify");
  cluster.proxy = entry.text("proxy-url");
  if (const std::string user = context.text("user"); !user.empty()) {
    read_user(entry_of(files, "users", "user", user), cluster);
  }
  return cluster;
}

// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
std::optional<Cluster> own_cluster(const config::Environment& environment,
                                   const std::string& service_account) {
  const std::string host = config::variable(environment, "KUBERNETES_SERVICE_HOST");
  const std::string port = config::variable(environment, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) return std::nullopt;
  Cluster cluster;
  cluster.server = host.contains(':') ? fmt::format("https://[{}]:{}", host, port)
                                      : fmt::format("https://{}:{}", host, port);
  cluster.ca.file = service_account + "/ca.crt";
  cluster.token_file = service_account + "/token";
  return cluster;
}

}  // namespace

Cluster find_cluster(const std::optional<std::string>& context,
                     const config::Environment& environment, const std::string& service_account) {
  const std::vector<Part> files = read_files(environment);
  if (!files.empty()) return read_cluster(files, context ? *context : current_context(files));
  // With KUBECONFIG, the context is one of a missing file, so of another cluster.
  const bool is_named = context && !config::variable(environment, "KUBECONFIG").empty();
  if (!is_named) {
    if (const auto own = own_cluster(environment, service_account)) return *own;
  }
  std::string paths;
  for (const std::string& path : paths_of(environment)) {
    paths += (paths.empty() ? "" : ", ") + path;
  }
  throw KubeconfigError(
      fmt::format("no kubeconfig exists: {}{}", paths,
                  is_named ? "" : ", and this process does not run in a cluster"));
}

std::set<std::string> kubeconfig_files(const config::Environment& environment) {
  const std::vector<std::string> paths = paths_of(environment);
  return {paths.begin(), paths.end()};
}

std::string content_of(const TextOrFile& ca) {
  return ca.file.empty() ? ca.text : config::read_file(ca.file);
}

}  // namespace nodepool::drivers::kubernetes
