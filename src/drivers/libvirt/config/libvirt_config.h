#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/statemachine/state_machine_config.h"

namespace nodepool::drivers::libvirt {

// A host with libvirt.
struct HostConfig {
  std::string name;
  std::string uri;
  std::string address;  // where forwarded ports are reached
};

// A network card. Ports are of user-mode networks only.
struct NetworkCard {
  enum class Kind { network, bridge, direct, user };

  Kind kind = Kind::network;
  std::string source = "default";  // the name of the network, bridge or device
  int first_port = 0;
  int last_port = 0;
  bool outgoing = false;
};

enum class UserDataFormat { cloud_init, ignition, none };
enum class Virtualization { automatic, kvm, qemu };
enum class AddressSource { lease, agent, arp };

// The settings of a label besides driver::MachineLabel.
struct LibvirtLabel {
  std::string volume;  // of the cloud image; empty: the label has a diskimage
  std::string username;
  std::int64_t cpus = 0;
  std::int64_t memory = 0;  // MiB
  std::int64_t disk = 0;    // GiB; 0: as the image
  std::string machine;
  bool efi = false;
  std::vector<NetworkCard> networks;
  std::vector<std::string> host_devices;  // libvirt's names
  std::vector<std::string> keys;
  std::string user_data;
  UserDataFormat user_data_format = UserDataFormat::cloud_init;
  std::int64_t connection_port = 0;
};

// The configuration of a provider with `driver: libvirt`.
class LibvirtConfig final : public driver::StateMachineConfig {
 public:
  // Throws config::ConfigError.
  LibvirtConfig(const config::ProviderSection& section, const config::Config& config);

  const std::vector<HostConfig>& hosts() const { return hosts_; }
  const std::string& storage_pool() const { return storage_pool_; }
  Virtualization virtualization() const { return virtualization_; }
  double cpu_overcommit() const { return cpu_overcommit_; }
  std::int64_t memory_reserve() const { return memory_reserve_; }  // MiB
  const std::vector<AddressSource>& address_sources() const { return address_sources_; }
  double rate() const { return rate_; }  // calls a second to each host; 0: unlimited
  async::Duration upload_timeout() const { return upload_timeout_; }  // for each host

  // Throws std::out_of_range for an unknown name.
  const LibvirtLabel& label(std::string_view pool, std::string_view label) const {
    return driver::of_label(labels_, pool, label);
  }

 private:
  void load_hosts(const config::Section& provider);
  void load_cloud_images(const config::Section& provider);
  void load_pool(const config::Section& section, const config::Section& provider,
                 const config::ProviderSection& provider_section, const config::Config& config);
  LibvirtLabel load_label(const config::Section& section, const config::Section& provider,
                          const driver::MachineLabel& machine) const;

  std::vector<HostConfig> hosts_;
  std::string storage_pool_;
  Virtualization virtualization_ = Virtualization::automatic;
  double cpu_overcommit_ = 1;
  std::int64_t memory_reserve_ = 0;
  std::vector<AddressSource> address_sources_;
  double rate_ = 0;
  async::Duration upload_timeout_{};
  driver::ByName<driver::ImageAccess> cloud_images_;
  driver::ByName<std::string> volumes_;  // of these
  driver::ByLabel<LibvirtLabel> labels_;
};

}  // namespace nodepool::drivers::libvirt
