#pragma once

#include <string>
#include <vector>

// The names that a release keeps (docs/stability.md), from the declarations in the code: one line
// of text each, in any order.
namespace nodepool::stability {

using Names = std::vector<std::string>;

// Adds the members of a JSON object, and of what is in it: "PREFIXnodes", "PREFIXnodes[].id".
void add_members(Names& names, const std::string& prefix, const std::string& object);

// Keys of nodepool.yaml, the secure file and the token file with each type and word that they
// accept.
Names configuration_names();

// The programs' commands, operands, options and their words.
Names command_names();

// Members of the JSON of commands.
Names listing_names();

// Metrics with their types and labels, for Prometheus and statsd.
Names metric_names();

// Paths, keys and states of the records in the store, and the owner tags.
Names record_names();

}  // namespace nodepool::stability
