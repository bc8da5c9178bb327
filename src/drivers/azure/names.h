#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "model/installation.h"
#include "model/record.h"

// The names of a machine and its resources in Azure.
namespace nodepool::drivers::azure {

// The external id of a machine is its name, which is the node's host name. machine_name() throws
// CloudError(not_found) for other values: there is no such machine.
model::Json external_id(const std::string& name);
std::string machine_name(const model::Json& external_id);

// Azure makes interfaces, addresses and disks with their machine, without tags. Therefore their
// names say whose they are: "np0000000001-<mark>-1-nic" has the host name of the node, its owner's
// mark and the number of the attempt. Azure may append a hyphen and more.
struct PartNames {
  std::string interface;
  std::string ipv4_address;
  std::string ipv6_address;
  std::string disk;
};

// Identifies a provider of an installation: 16 hexadecimal digits of a hash.
std::string owner_mark(const model::Installation& installation, const std::string& provider);

PartNames part_names(std::string_view host, std::string_view mark, std::int64_t attempt);

// The node of a resource with such a name; nothing for names of others.
std::optional<std::string> node_of_part(std::string_view name, std::string_view mark);

}  // namespace nodepool::drivers::azure
