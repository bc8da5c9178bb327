#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "driver/driver.h"

namespace nodepool::drivers::static_nodes {

// The identity of a host: two entries, or an entry and a node record, with equal keys are the same
// host.
struct HostKey {
  std::string name;
  std::string username;
  int port = 0;

  friend auto operator<=>(const HostKey&, const HostKey&) = default;
};

// The key of the host of a node record.
HostKey host_key_of(const model::Node& node);

// One entry of `nodes`.
struct Host {
  std::string pool;
  std::string name;  // host name or address
  std::vector<std::string> labels;
  std::string username;
  std::int64_t timeout = 5;  // seconds until the host must answer
  bool host_key_checking = true;
  std::vector<std::string> host_keys;  // required host keys; empty: any
  int connection_port = 22;
  std::string connection_type;
  std::optional<std::string> shell_type;
  std::string python_path;
  std::int64_t slots = 1;  // max-parallel-jobs: nodes on the host

  HostKey key() const { return {name, username, connection_port}; }

  // Whether its SSH host keys are read.
  bool has_ssh() const { return connection_type == "ssh" || connection_type == "network_cli"; }
};

// The configuration of a provider with `driver: static`.
class StaticProviderConfig final : public driver::ProviderConfig {
 public:
  // Throws config::ConfigError.
  StaticProviderConfig(const config::ProviderSection& section, const config::Config& config);

  // The hosts of all pools. If a host is listed twice, the later entry counts.
  const std::map<HostKey, Host>& hosts() const { return hosts_; }

  // All slots of the pools' hosts.
  driver::Offer offer() const override;

 private:
  void load_pool(const config::Section& section, const config::ProviderSection& provider,
                 const config::Config& config);
  // Warns if the entry's machine is listed already.
  void warn_if_listed(const Host& host, const config::Section& entry);

  std::map<HostKey, Host> hosts_;
};

// The schema of the provider section.
const config::Schema& static_schema();

}  // namespace nodepool::drivers::static_nodes
