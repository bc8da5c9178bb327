#pragma once

#include <string>
#include <string_view>

#include "drivers/libvirt/api/host.h"

// Reads libvirt's XML. Unknown or missing parts have default values.
namespace nodepool::drivers::libvirt {

// The XML namespace of the owner tags in a domain's metadata.
inline constexpr const char* kTagNamespace = "urn:nodepool:libvirt";

// A domain, without its state. Throws CloudError(failed) if the text is no XML.
Domain read_domain(const std::string& xml);

// A volume, as far as clones of it need it.
struct VolumeDescription {
  std::string name;
  std::string path;
  std::string format;          // "qcow2", "raw"
  std::uint64_t capacity = 0;  // bytes
};
VolumeDescription read_volume(const std::string& xml);

// The directory of a storage pool.
std::string read_pool_path(const std::string& xml);

// Whether the host's capabilities offer KVM.
bool offers_kvm(const std::string& xml);

}  // namespace nodepool::drivers::libvirt
