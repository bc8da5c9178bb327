#pragma once

#include <cstdint>
#include <string>

#include "drivers/static_nodes/host_check.h"
#include "drivers/static_nodes/static_config.h"
#include "model/node.h"

// The record of a slot's node, made from the configuration and a check of its host. `attributes`
// are the `node-attributes` of the host's pool.
namespace nodepool::drivers::static_nodes {

// The record of a node in a free slot.
model::Node make_node(const Host& host, std::int64_t slot, const HostFacts& facts,
                      const std::string& provider, const model::Json& attributes, double now);

// Whether the record differs from the configuration.
bool is_outdated(const model::Node& node, const Host& host, const model::Json& attributes);

// Copies the configuration and the results of a check to a record. Returns whether it has changed.
bool refresh_node(model::Node& node, const Host& host, const model::Json& attributes,
                  const HostFacts& facts);

}  // namespace nodepool::drivers::static_nodes
