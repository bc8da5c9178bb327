#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "driver/images.h"
#include "driver/resources.h"
#include "model/record.h"

namespace nodepool::driver {

// A machine in the cloud: what a launch results in, and what a listing shows.
struct Instance {
  model::Json external_id;  // text, or an object where the cloud has several
  Metadata metadata;
  Resources resources;  // what it takes; empty: not known

  std::optional<std::string> interface_ip;  // where it is reached
  std::optional<std::string> public_ipv4;
  std::optional<std::string> public_ipv6;
  std::optional<std::string> private_ipv4;
  std::optional<std::string> private_ipv6;  // not recorded
  std::optional<std::string> cloud;
  std::optional<std::string> region;
  std::optional<std::string> az;
  std::optional<std::string> host_id;
  model::Json driver_data;
  std::optional<std::int64_t> slot;
  model::Json node_properties{"{}"};
  model::Json node_attributes;  // the pool's go over them
};

// What a machine is called among the resources; its Resource::id is its external id: the text that
// it is, or the JSON of any other value.
inline constexpr std::string_view kInstanceResource = "instance";

// Something in the cloud that should go when nobody knows it any more.
struct Resource {
  std::string type;  // kInstanceResource, "volume", …: a word for messages and metrics
  std::string id;    // what the adapter deletes it by
  Metadata metadata;
};

}  // namespace nodepool::driver
