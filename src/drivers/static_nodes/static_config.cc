#include "drivers/static_nodes/static_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "config/duration.h"
#include "config/nodepool_schema.h"
#include "config/section.h"
#include "config/wording.h"

namespace nodepool::drivers::static_nodes {

namespace {

// Slots of a host. Each is a node in the store, so the limit keeps a typing mistake from filling
// it.
constexpr std::int64_t kMostSlots = 10'000;

const config::Schema& host_schema() {
  using namespace config;
  static const Schema schema{
      .description = "An existing, reachable host.",
      .fields = {
          {.key = "name",
           .type = string(),
           .required = Required::always,
           .description = "Host name or address."},
          {.key = "labels",
           .type = one_of({list_of(label_name()), label_names()}),
           .required = Required::always,
           .description = "Labels of the host, as a list or as words in one string. Each must be "
                          "in the top-level `labels`."},
          {.key = "username",
           .type = string(),
           .default_value = "zuul",
           .description = "User to log in as. Recorded with the node."},
          {.key = "timeout",
           .type = integer(),
           .default_value = "5",
           .unit = "seconds",
           .description = "Timeout of a health check, and of the name lookup before it. Reading an "
                          "SSH host's further keys after the first does not count."},
          {.key = "host-key-checking",
           .type = boolean(),
           .default_value = "true",
           .description = "Read the SSH host keys at registration, and check that the host answers "
                          "before it is assigned."},
          {.key = "host-key",
           .type = one_of({string(), list_of(string())}),
           .description =
               "Expected SSH host keys, as `<type> <base64>`. A host with other keys is unhealthy. "
               "With `host-key-checking: false`, the keys to record without a check."},
          {.key = "connection-port",
           .type = integer_between(1, 65535),
           .default_value = "22",
           .description = "Connection port, for all connection types."},
          {.key = "ssh-port",
           .type = integer_between(1, 65535),
           .accepted = Accepted::by_daemons,
           .description = "Old name of `connection-port`.",
           .deprecated = "connection-port"},
          {.key = "connection-type",
           .type = string(),
           .default_value = "ssh",
           .description = "Connection type for requestors: `ssh`, `network_cli`, `winrm`, … SSH "
                          "host keys are read only for `ssh` and `network_cli`."},
          {.key = "shell-type",
           .type = string(),
           .description = "Shell type of the host, for Ansible. Recorded with the node."},
          {.key = "python-path",
           .type = string(),
           .default_value = "auto",
           .description =
               "Path of the host's Python interpreter, for Ansible. Recorded with the node."},
          {.key = "max-parallel-jobs",
           .type = integer(),
           .default_value = "1",
           .description = "Number of nodes (slots) of the host, at most 10,000. As many requestors "
                          "can share it."},
      }};
  return schema;
}

const config::Schema& pool_schema() {
  using namespace config;
  static const Schema schema{
      .description = "A group of hosts.",
      .fields = joined(common_pool_fields(),
                       {{.key = "name",
                         .type = string(),
                         .required = Required::always,
                         .description = "Name of the pool, unique in the provider."},
                        {.key = "nodes",
                         .type = list_of(section(host_schema())),
                         .required = Required::strictly,
                         .description = "Hosts of the pool."}})};
  return schema;
}

std::vector<std::string> read_host_keys(const config::Section& section) {
  const config::Value* value = section.find("host-key");
  if (value == nullptr) return {};
  if (value->is_string()) return {value->as_string()};  // a key contains a space: no splitting
  return section.texts("host-key");
}

// "ssh-ed25519 AAAA…"; does not decode the base64.
bool is_host_key(std::string_view text) {
  const std::vector<std::string> words = config::words_of(text);
  const auto is_base64 = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
  };
  return words.size() == 2 && text == words[0] + " " + words[1] &&
         std::ranges::all_of(words[1], is_base64);
}

Host load_host(const config::Section& section, const config::Config& config,
               const std::string& pool) {
  Host host;
  host.pool = pool;
  host.name = section.text("name");
  host.labels = section.texts("labels");
  for (const std::string& label : host.labels) find_label(config, section, "labels", label);
  host.username = section.text("username");
  host.timeout = config::duration_of(section.integer_or_text("timeout")).count();
  host.host_key_checking = section.boolean("host-key-checking");
  host.host_keys = read_host_keys(section);
  const std::string_view port_key =
      section.has("connection-port") || !section.has("ssh-port") ? "connection-port" : "ssh-port";
  const std::int64_t port = section.integer_or_text(port_key);
  if (port < 1 || port > 65535) throw section.error(port_key, "a port is from 1 to 65535");
  host.connection_port = static_cast<int>(port);
  host.connection_type = section.text("connection-type");
  host.shell_type = section.optional_text("shell-type");
  host.python_path = section.text("python-path");
  host.slots = section.integer_or_text("max-parallel-jobs");
  if (host.slots > kMostSlots) {
    throw section.error("max-parallel-jobs", fmt::format("must be at most {}", kMostSlots));
  }
  return host;
}

}  // namespace

HostKey host_key_of(const model::Node& node) {
  return {node.hostname.value_or(""), node.username.value_or(""), node.port().value_or(0)};
}

const config::Schema& static_schema() {
  using namespace config;
  static const Schema schema{.description = "Existing hosts. Nothing is created or deleted.",
                             .fields = {{.key = "pools",
                                         .type = list_of(section(pool_schema())),
                                         .description = "Groups of hosts."}}};
  return schema;
}

StaticProviderConfig::StaticProviderConfig(const config::ProviderSection& section,
                                           const config::Config& config)
    : ProviderConfig(section) {
  const config::Schema schema = config::provider_schema(static_schema());
  const config::Section provider(section.value, schema, section.file, section.path);
  for (const config::Section& pool : provider.sections("pools")) load_pool(pool, section, config);
}

driver::Offer StaticProviderConfig::offer() const {
  driver::Offer offer = ProviderConfig::offer();
  for (auto& [name, pool] : offer.pools) pool.inventory.emplace();
  for (const auto& [key, host] : hosts_) {
    driver::Inventory& inventory = *offer.pools[host.pool].inventory;
    const auto slots = static_cast<std::size_t>(std::max<std::int64_t>(host.slots, 0));
    inventory.insert(inventory.end(), slots, host.labels);
  }
  return offer;
}

void StaticProviderConfig::warn_if_listed(const Host& host, const config::Section& entry) {
  const auto warn = [this, &entry](std::string message, std::string hint) {
    config_warnings_.push_back(entry.error("name", std::move(message), std::move(hint)).problem());
  };
  if (hosts_.contains(host.key())) {
    return warn(fmt::format("the provider lists {}@{} with port {} twice", host.username, host.name,
                            host.connection_port),
                "the last entry counts; `max-parallel-jobs` sets the number of nodes");
  }
  for (auto other = hosts_.lower_bound({host.name, "", 0});
       other != hosts_.end() && other->first.name == host.name; ++other) {
    if (other->first.port != host.connection_port) continue;
    return warn(fmt::format("the provider lists {} with port {} for the users {} and {}", host.name,
                            host.connection_port, other->first.username, host.username),
                "two jobs may get the machine at the same time");
  }
}

void StaticProviderConfig::load_pool(const config::Section& section,
                                     const config::ProviderSection& provider,
                                     const config::Config& config) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider);
  for (const config::Section& entry : section.sections("nodes")) {
    Host host = load_host(entry, config, pool.name);
    if (!std::ranges::all_of(host.host_keys, is_host_key)) {
      config_warnings_.push_back(entry
                                     .error("host-key",
                                            "is no SSH host key: no host has such a key",
                                            "write `<type> <base64>`, without the host's name")
                                     .problem());
    }
    warn_if_listed(host, entry);
    pool.labels.insert(host.labels.begin(), host.labels.end());
    hosts_.insert_or_assign(host.key(), std::move(host));
  }
  pools_.insert_or_assign(pool.name, std::move(pool));
}

}  // namespace nodepool::drivers::static_nodes
