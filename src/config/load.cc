#include "config/load.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "config/check.h"
#include "config/consistency.h"
#include "config/diskimages.h"
#include "config/document.h"
#include "config/nodepool_schema.h"
#include "config/outside_error.h"
#include "config/section.h"
#include "config/wording.h"
#include "config/yaml.h"

namespace nodepool::config {

namespace {

constexpr std::string_view kSqliteScheme = "sqlite://";
constexpr std::string_view kZooKeeper = "zookeeper";
constexpr std::string_view kChooseStore =
    "set `store: sqlite:///var/lib/nodepool/nodepool.db` to use the embedded store";

// The most nodes to keep ready with one label. Each is a request and a node in the store, so the
// limit keeps a typing mistake from filling the store.
constexpr std::int64_t kMostReady = 10'000;

int read_port(const Section& section, std::string_view key) {
  const Value* given = section.find(key);
  // The Python Nodepool puts the port into an address, so it accepts text as well.
  const Value port = given == nullptr || !given->is_string() ? Value::integer(section.integer(key))
                                                             : Value::string(given->as_string());
  const double number = port.to_number().value_or(-1);
  constexpr double kHighestPort = 65535;
  if (number < 0 || number > kHighestPort || number != static_cast<int>(number)) {
    throw section.error(key, "must be a port, an integer between 0 and 65535");
  }
  return static_cast<int>(number);
}

// Browsers follow other schemes, too, such as "javascript:".
std::string read_web_url(const Section& section, std::string_view key) {
  std::string url = section.optional_text(key).value_or("");
  const bool is_web = url.empty() || url.starts_with("https://") || url.starts_with("http://");
  if (!is_web) throw section.error(key, "must begin with https:// or http://");
  return url;
}

WebApp read_webapp(const Section& root) {
  WebApp webapp;
  if (const auto section = root.section("webapp")) {
    webapp.port = read_port(*section, "port");
    webapp.listen_address = section->text("listen_address");
    if (section->has("builder-port")) webapp.builder_port = read_port(*section, "builder-port");
    webapp.dashboard_url = read_web_url(*section, "dashboard-url");
  }
  return webapp;
}

unsigned read_socket_mode(const Section& api) {
  constexpr std::string_view kKey = "socket-mode";
  const Value* given = api.find(kKey);
  // Without quotes, 0660 is the number 432, whose digits are another mode.
  if (given != nullptr && !given->is_string()) {
    throw api.error(kKey, "must be in quotes", "for example `\"0660\"`");
  }
  const std::string mode = api.optional_text(kKey).value_or("0660");
  constexpr std::string_view kOctal = "01234567";
  constexpr std::size_t kLongestMode = 4;
  if (mode.empty() || mode.size() > kLongestMode ||
      mode.find_first_not_of(kOctal) != std::string::npos) {
    throw api.error(kKey, "must be an octal file mode", "for example `\"0660\"`");
  }
  return static_cast<unsigned>(std::stoul(mode, nullptr, 8));
}

ApiSettings read_api(const Section& root) {
  ApiSettings api;
  const auto section = root.section("api");
  if (!section) return api;
  api.tokens = section->optional_text("tokens").value_or("");
  api.anonymous_read = section->boolean("anonymous-read");
  api.anonymous_build_logs = api.anonymous_read && section->has("anonymous-read");
  api.socket = section->optional_text("socket").value_or("");
  api.socket_mode = read_socket_mode(*section);
  api.listen_address = section->text("listen-address");
  api.tls_cert = section->optional_text("tls-cert").value_or("");
  api.tls_key = section->optional_text("tls-key").value_or("");
  api.host_names = section->texts("host-names");
  if (section->has("port")) api.port = read_port(*section, "port");
  if (api.port && (api.tls_cert.empty() || api.tls_key.empty())) {
    throw section->error("port", "requires a certificate", "set `tls-cert` and `tls-key`");
  }
  return api;
}

// "/np/" -> "/np", "/" -> "", like kazoo.
std::string read_chroot(const Section& server) {
  std::string chroot = server.optional_text("chroot").value_or("");
  while (chroot.ends_with('/')) chroot.pop_back();
  if (!chroot.empty() && (!chroot.starts_with('/') || chroot.contains("//"))) {
    throw server.error("chroot", "must be an absolute path in ZooKeeper", "for example `/ci`");
  }
  return chroot;
}

std::vector<GearmanServer> read_gearman_servers(const Section& root) {
  std::vector<GearmanServer> servers;
  for (const Section& server : root.sections("gearman-servers")) {
    servers.push_back({.host = server.text("host"), .port = read_port(server, "port")});
  }
  return servers;
}

// The chroot applies to all servers, whichever of them has it.
void read_zookeeper_servers(const Section& root, ZooKeeper& zookeeper) {
  for (const Section& server : root.sections("zookeeper-servers")) {
    zookeeper.servers.push_back({.host = server.text("host"), .port = read_port(server, "port")});
    const std::string chroot = read_chroot(server);
    if (chroot.empty()) continue;
    if (!zookeeper.chroot.empty() && chroot != zookeeper.chroot) {
      throw server.error(
          "chroot", "differs from the chroot of another server: " + in_quotes(zookeeper.chroot),
          "set the same chroot for all servers, or set it for only one");
    }
    zookeeper.chroot = chroot;
  }
}

// Throws a problem with the servers of ZooKeeper, unless the caller does not need them and a secure
// file, which was not given, could have others.
void report_server_problem(Problem problem, const LoadOptions& options) {
  if (options.secure_path) throw ConfigError(std::move(problem));
  if (options.uses_store) throw OutsideError(std::move(problem));
}

void read_servers_of_main_file(const Section& root, const LoadOptions& options,
                               ZooKeeper& zookeeper) {
  try {
    read_zookeeper_servers(root, zookeeper);
  } catch (const ConfigError& error) {
    report_server_problem(error.problem(), options);
  }
}

ZooKeeperTls read_zookeeper_tls(const Section& root) {
  const auto section = root.section("zookeeper-tls");
  if (!section) return {};
  ZooKeeperTls tls{.cert = section->optional_text("cert").value_or(""),
                   .key = section->optional_text("key").value_or(""),
                   .ca = section->optional_text("ca").value_or(""),
                   .verify_hostname = section->boolean("verify-hostname"),
                   .insecure_plaintext = section->boolean("insecure-plaintext")};
  if (tls.insecure_plaintext && (tls.verify_hostname || !(tls.cert + tls.key + tls.ca).empty())) {
    throw section->error("insecure-plaintext",
                         "cannot be combined with the other keys of this section",
                         "remove it to use TLS");
  }
  return tls;
}

std::optional<ZooKeeperAuth> read_zookeeper_auth(const Section& root) {
  const auto section = root.section("zookeeper-auth");
  if (!section) return std::nullopt;
  ZooKeeperAuth auth{.user = section->text("user"), .password = section->text("password")};
  if (auth.user.empty() || auth.user.contains(':')) {
    throw section->error("user", "must be a name without a colon");
  }
  return auth;
}

double read_zookeeper_timeout(const Section& root) {
  constexpr std::string_view kKey = "zookeeper-timeout";
  constexpr double kLongest = 24 * 60 * 60;
  root.refuse_null(kKey);
  const double timeout = root.number(kKey);
  if (!(timeout > 0 && timeout <= kLongest)) {
    throw root.error(kKey, "must be more than 0 and at most 86400 seconds");
  }
  return timeout;
}

std::map<std::string, Label> read_labels(const Section& root) {
  std::map<std::string, Label> labels;
  for (const Section& section : root.sections("labels")) {
    Label label{.name = section.text("name"),
                .min_ready = section.integer("min-ready"),
                .max_ready_age = section.integer("max-ready-age")};
    if (label.min_ready > kMostReady) {
      throw section.error("min-ready", "must be at most " + std::to_string(kMostReady));
    }
    labels.insert_or_assign(label.name, std::move(label));
  }
  return labels;
}

ProviderSection read_provider(const Section& section, const DriverSchemas& drivers) {
  ProviderSection provider{.name = section.text("name"),
                           .driver = driver_of(section.value(), drivers),
                           .max_concurrency = section.integer("max-concurrency"),
                           .priority = section.optional_integer("priority"),
                           .value = section.value(),
                           .file = section.file(),
                           .path = section.path()};
  if (!drivers.schemas.contains(provider.driver)) {
    throw unknown_driver(section, provider.driver, drivers);
  }
  return provider;
}

std::vector<ProviderSection> read_providers(const Section& root, const DriverSchemas& drivers) {
  root.sections("providers");  // throws if it is no list of mappings
  std::vector<ProviderSection> providers;
  for (const Section& section : provider_sections(root)) {
    ProviderSection provider = read_provider(section, drivers);
    const auto same = std::ranges::find(providers, provider.name, &ProviderSection::name);
    if (same == providers.end()) {
      providers.push_back(std::move(provider));
    } else {
      *same = std::move(provider);
    }
  }
  return providers;
}

// The resource's name in records of nodes and in limits of providers.
std::string resource_of(std::string_view limit_key) {
  if (limit_key == "max-servers") return "instances";
  if (limit_key == "max-cores") return "cores";
  if (limit_key == "max-ram") return "ram";
  if (limit_key == "max-volumes") return "volumes";
  if (limit_key == "max-volume-gb") return "volume-gb";
  return std::string(limit_key);
}

std::map<std::string, TenantLimits> read_tenant_limits(const Section& root) {
  constexpr std::string_view kName = "tenant-name";
  std::map<std::string, TenantLimits> tenants;
  for (const Section& section : root.sections("tenant-resource-limits")) {
    TenantLimits tenant{.name = section.text(kName), .limits = {}};
    for (const Value::Entry& entry : section.value().as_mapping()) {
      if (entry.key == kName) continue;
      if (const auto limit = section.optional_integer(entry.key)) {
        tenant.limits[resource_of(entry.key)] = *limit;
      }
    }
    tenants.insert_or_assign(tenant.name, std::move(tenant));
  }
  return tenants;
}

// Seconds: a year.
constexpr std::int64_t kLongestPoolTimeout = 31'536'000;

Config read_config(const Section& root, const DriverSchemas& drivers) {
  Config config;
  config.elements_dir = root.optional_text("elements-dir");
  config.images_dir = root.optional_text("images-dir");
  config.build_log_dir = root.text("build-log-dir");
  config.build_log_retention = root.integer("build-log-retention");
  config.build_log_limit = root.integer("build-log-limit");
  config.max_hold_age = root.optional_integer("max-hold-age");
  if (config.max_hold_age.value_or(0) <= 0) config.max_hold_age.reset();
  config.max_lease = root.optional_seconds("max-lease");
  if (config.max_lease.value_or(0) <= 0) config.max_lease.reset();
  config.pool_timeout =
      std::clamp<std::int64_t>(root.seconds("pool-timeout"), 0, kLongestPoolTimeout);
  config.webapp = read_webapp(root);
  config.api = read_api(root);
  config.gearman_servers = read_gearman_servers(root);
  config.zookeeper.timeout = read_zookeeper_timeout(root);
  const std::vector<Section> diskimages = root.sections("diskimages");
  config.diskimages = DiskImageFamily(diskimages).resolve();
  config.labels = read_labels(root);
  config.providers = read_providers(root, drivers);
  config.zookeeper.tls = read_zookeeper_tls(root);
  config.zookeeper.auth = read_zookeeper_auth(root);
  config.tenant_limits = read_tenant_limits(root);
  return config;
}

void apply_secure(const Section& secure, Config& config) {
  const Value* tls = secure.find("zookeeper-tls");
  if (tls != nullptr && tls->truthy()) {
    const bool verify = config.zookeeper.tls.verify_hostname;
    config.zookeeper.tls = read_zookeeper_tls(secure);
    if (verify) config.zookeeper.tls.verify_hostname = true;
  }

  if (auto auth = read_zookeeper_auth(secure)) config.zookeeper.auth = std::move(auth);

  secure.refuse_null("diskimages");
  for (const Section& section : secure.sections("diskimages")) {
    const std::string name = section.text("name");
    const auto image = config.diskimages.find(name);
    if (image == config.diskimages.end()) {
      throw section.error("name", "unknown disk image " + in_quotes(name),
                          did_you_mean(name, keys_of(config.diskimages)));
    }
    for (const auto& [variable, text] : section.text_map("env-vars")) {
      image->second.env_vars[variable] = text;
    }
  }
}

StoreChoice choose_store(const Section& root, const Config& config, const LoadOptions& options,
                         std::vector<Problem>& warnings) {
  const bool has_zookeeper = !config.zookeeper.servers.empty();
  const auto store = root.optional_text("store");
  if (!store && !has_zookeeper) return {};
  if (!store || *store == kZooKeeper) {
    if (!has_zookeeper) {
      report_server_problem(root.error("store", "is `zookeeper`, but no servers are configured",
                                       "list them under `zookeeper-servers`")
                                .problem(),
                            options);
    }
    return {.kind = StoreChoice::Kind::zookeeper, .sqlite_path = {}, .is_default = false};
  }
  if (!store->starts_with(std::string(kSqliteScheme) + "/")) {
    throw root.error("store", "must be `zookeeper`, or `sqlite://` and the absolute path of a file",
                     "for example `sqlite:///var/lib/nodepool/nodepool.db`");
  }
  if (has_zookeeper) {
    warnings.push_back(root.error("store", "is used; `zookeeper-servers` is ignored",
                                  "write `store: zookeeper` to use them")
                           .problem());
  }
  return {.kind = StoreChoice::Kind::sqlite,
          .sqlite_path = store->substr(kSqliteScheme.size()),
          .is_default = false};
}

// The first key that means ZooKeeper, perhaps misspelled, as a problem; nothing if there is none.
std::optional<Problem> sign_of_zookeeper(const Value& document, const std::string& file) {
  if (document.is_null()) return std::nullopt;
  for (const Value::Entry& entry : document.as_mapping()) {
    const bool is_sign = entry.key.starts_with(kZooKeeper) ||
                         !did_you_mean(entry.key, {"zookeeper-servers"}).empty();
    if (!is_sign) continue;
    return Problem{.file = file,
                   .mark = entry.mark,
                   .path = path_below("", entry.key),
                   .message = "no ZooKeeper servers are configured",
                   .hint = "list them under `zookeeper-servers`, or " + std::string(kChooseStore)};
  }
  return std::nullopt;
}

// A `store` that is misspelled or empty, as a problem; nothing if there is none.
std::optional<Problem> sign_of_store(const Value& document, const std::string& file) {
  if (document.is_null()) return std::nullopt;
  for (const Value::Entry& entry : document.as_mapping()) {
    std::string hint = did_you_mean(entry.key, {"store"});
    if (hint.empty()) continue;
    if (entry.key == "store") hint = kChooseStore;
    return Problem{.file = file,
                   .mark = entry.mark,
                   .path = path_below("", entry.key),
                   .message = "no store is configured",
                   .hint = std::move(hint)};
  }
  return std::nullopt;
}

// The servers of many installations of the Python Nodepool are in this file.
std::optional<Problem> unread_secure_file(const LoadOptions& options) {
  const std::filesystem::path file =
      std::filesystem::path(options.path).parent_path() / "secure.conf";
  std::error_code unknown;
  if (options.secure_path || !std::filesystem::exists(file, unknown)) return std::nullopt;
  return Problem{
      .file = options.path,
      .message =
          "has neither `store` nor `zookeeper-servers`, and " + file.string() + " is not read",
      .hint = "pass it with `-s` if it has the servers, or " + std::string(kChooseStore)};
}

// Throws if the store or servers of ZooKeeper seem to be missing by mistake. The default store
// would be empty: the builder would build all images again, and the launcher create all ready nodes
// once more.
void check_default_store(const Value& document, const Value& secure_document,
                         const LoadOptions& options) {
  std::optional<Problem> doubt = sign_of_zookeeper(document, options.path);
  if (!doubt) doubt = sign_of_zookeeper(secure_document, options.secure_path.value_or(""));
  if (!doubt) doubt = sign_of_store(document, options.path);
  if (!doubt) doubt = unread_secure_file(options);
  if (doubt) report_server_problem(*std::move(doubt), options);
}

HistorySettings read_history(const Section& root, const StoreChoice& store) {
  HistorySettings history;
  if (!store.sqlite_path.empty()) {
    history.directory =
        store.sqlite_path.substr(0, std::max<std::size_t>(1, store.sqlite_path.rfind('/')));
  }
  if (const auto section = root.section("history")) {
    history.directory = section->optional_text("directory").value_or(history.directory);
    const std::int64_t mebibytes = section->integer("max-size");
    constexpr std::int64_t kLargest = 1 << 20;
    if (mebibytes < 1 || mebibytes > kLargest) {
      throw section->error("max-size", "must be an integer between 1 and 1048576");
    }
    history.max_size = mebibytes << 20;
    history.max_age = section->integer("max-age");
    constexpr std::int64_t kLongest = 3650;
    if (history.max_age < 0 || history.max_age > kLongest) {
      throw section->error("max-age", "must be an integer between 0 and 3650");
    }
  }
  return history;
}

std::vector<Problem> find_warnings(const Section& root, const DriverSchemas& drivers) {
  std::vector<Problem> warnings =
      check_leniently(root.value(), nodepool_schema(), {.file = root.file()});
  std::ranges::move(duplicates(root), std::back_inserter(warnings));
  std::ranges::move(duplicate_pools(root), std::back_inserter(warnings));
  for (const Section& provider : provider_sections(root)) {
    const auto driver = drivers.schemas.find(driver_of(provider.value(), drivers));
    if (driver == drivers.schemas.end()) continue;
    const Schema schema = provider_schema(*driver->second);
    std::ranges::move(check_leniently(provider.value(), schema,
                                      {.file = provider.file(), .path = provider.path()}),
                      std::back_inserter(warnings));
  }
  return warnings;
}

Value read_document(const std::string& path, const Environment& environment,
                    std::vector<Problem>& warnings) {
  const std::string text = read_file(path);
  Value document = parse_document(text, environment, path, &warnings);
  std::ranges::move(unset_variables(text, environment, path), std::back_inserter(warnings));
  return document;
}

}  // namespace

LoadResult load(const LoadOptions& options) {
  LoadResult result;
  const Value document = read_document(options.path, options.environment, result.warnings);
  const Section root(document, nodepool_schema(), options.path, "");
  result.config = read_config(root, options.drivers);
  std::ranges::move(find_warnings(root, options.drivers), std::back_inserter(result.warnings));

  const std::string secure_path = options.secure_path.value_or("");
  const Value secure_document =
      secure_path.empty() ? Value()
                          : read_document(secure_path, options.environment, result.warnings);
  bool has_other_servers = false;
  if (!secure_document.is_null()) {
    const Section secure(secure_document, secure_schema(), secure_path, "");
    apply_secure(secure, result.config);
    read_zookeeper_servers(secure, result.config.zookeeper);
    has_other_servers = !result.config.zookeeper.servers.empty();
    std::ranges::move(check_leniently(secure_document, secure_schema(), {.file = secure_path}),
                      std::back_inserter(result.warnings));
  }
  // The secure file's servers replace the main file's, even if these are invalid.
  if (!has_other_servers) read_servers_of_main_file(root, options, result.config.zookeeper);
  result.config.store = choose_store(root, result.config, options, result.warnings);
  if (result.config.store.is_default && options.uses_store) {
    check_default_store(document, secure_document, options);
  }
  result.config.history = read_history(root, result.config.store);
  sort_by_position(result.warnings);
  return result;
}

}  // namespace nodepool::config
