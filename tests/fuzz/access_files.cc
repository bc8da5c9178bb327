// What `nodepool run` and `nodepool request` write of a node's record: files that ssh and Ansible
// believe.

#include "cli/access_files.h"

#include <algorithm>

#include "model/node.h"
#include "report/rendering/table_text.h"
#include "telemetry/sanitized_text.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {
namespace {

// How many lines a file has that begin with a word.
std::ptrdiff_t lines_with(std::string_view text, std::string_view word) {
  std::ptrdiff_t found = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    found += text.substr(begin).starts_with(word) ? 1 : 0;
    const std::size_t end = text.find('\n', begin);
    begin = end == std::string_view::npos ? text.size() : end + 1;
  }
  return found;
}

}  // namespace

void read(std::string_view input) {
  telemetry::sanitized_text(input);
  coordination::Entry entry;
  entry.data = input;
  model::Node node;
  try {
    node = model::parse_node("0000000001", entry);
  } catch (const model::RecordError&) {
    return;
  }
  report::cell_text(node.user_data);
  report::cell_text(node.attributes);
  const auto nodes = cli::access_to({node}, {"label"});
  const cli::AccessPaths paths{"/tmp/config", "/tmp/known_hosts", "/tmp/inventory.yaml"};
  const std::string config = cli::ssh_config_text(nodes, paths);
  require(lines_with(config, "Host ") <= 1, "a record adds no hosts to ssh's configuration");
  require(lines_with(config, "ProxyCommand") == 0 && lines_with(config, "  ProxyCommand") == 0,
          "a record adds no commands to ssh's configuration");
  const std::string known_hosts = cli::known_hosts_text(nodes);
  require(std::ranges::count(known_hosts, '\n') <=
              static_cast<std::ptrdiff_t>(node.host_keys.size()) + 1,
          "a record adds no lines to known_hosts");
  require(lines_with(known_hosts, "@") == 0, "a record names no authority of keys");
  cli::inventory_text(nodes, paths);
  cli::access_environment({}, nodes, paths);
}

}  // namespace nodepool::fuzz
