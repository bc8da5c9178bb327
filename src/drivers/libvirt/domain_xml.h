#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/images.h"
#include "drivers/libvirt/api/descriptions.h"
#include "drivers/libvirt/config/libvirt_config.h"

// What a machine consists of, as XML for libvirt.
namespace nodepool::drivers::libvirt {

// The name of a node's domain. The digits after the host name stand for provider and installation.
std::string domain_name(std::string_view hostname, const driver::Metadata& owner_tags);
// The host name in the name of a domain or a volume with the digits of these tags; empty: it has
// others.
std::string hostname_in(std::string_view name, const driver::Metadata& owner_tags);

// The names of a domain's volumes.
std::string disk_name(const std::string& domain);
std::string configuration_name(const std::string& domain);
std::string console_log_name(const std::string& domain);

struct DomainSpec {
  std::string name;
  std::int64_t attempt = 1;  // of the launch: each has its own UUID
  driver::Metadata owner_tags;
  const LibvirtLabel& label;
  std::vector<std::string> macs;  // of the label's network cards
  std::string storage_pool;
  std::string pool_path;     // its directory
  bool has_kvm = false;      // use it
  int port = 0;              // of the host, for a user-mode network
  std::string host_address;  // of that port
};

std::string domain_xml(const DomainSpec& spec);

// A clone of an image, at least as large; `size` in bytes.
std::string clone_xml(const std::string& name, const VolumeDescription& image, std::uint64_t size);
// A volume of that format and size.
std::string volume_xml(const std::string& name, std::string_view format, std::uint64_t size);

}  // namespace nodepool::drivers::libvirt
