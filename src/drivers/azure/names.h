#pragma once

#include <string>
#include <string_view>

#include "model/record.h"

// The names of a machine's resources in Azure. They are derived from the node's host name, which is
// the machine's name.
namespace nodepool::drivers::azure {

std::string interface_name(std::string_view host);
std::string ipv4_address_name(std::string_view host);
std::string ipv6_address_name(std::string_view host);
std::string disk_name(std::string_view host);

// The external id of a machine is its name. machine_name() throws CloudError(not_found) for other
// values: there is no such machine.
model::Json external_id(const std::string& name);
std::string machine_name(const model::Json& external_id);

}  // namespace nodepool::drivers::azure
