#include "cli/lease_text.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/node_access.h"
#include "report/rendering/table_text.h"

namespace nodepool::cli {

namespace {

// For people: how to reach the nodes, renew the lease and release it.
std::string lease_text(const requestor::LeasedNodes& leased, const std::vector<NodeAccess>& nodes,
                       const LeaseFiles& files) {
  report::Table table({{"label", "Label"},
                       {"id", "ID"},
                       {"host", "Host"},
                       {"port", "Port"},
                       {"username", "Username"},
                       {"connection", "Connection"}});
  const std::string file_summary = files.summary();
  std::string logins;
  for (const NodeAccess& node : nodes) {
    table.add({model::json_string(node.label), model::json_string(node.id),
               model::json_string(node.host),
               node.port ? model::Json{std::to_string(*node.port)} : model::Json{},
               model::json_string(node.username), model::json_string(node.connection_type)});
    const std::string login = ssh_command(node);
    // The name is known only to the programs that read the files.
    const std::string name = file_summary.empty() ? "" : ", " + node.name;
    if (!login.empty()) logins += fmt::format("{}    # node {}{}\n", login, node.id, name);
  }
  if (!logins.empty()) logins = "\n" + logins;
  const std::string& id = leased.lease.id;
  return fmt::format(
      "{}\n{}\n{}Lease {} until {}\nRenew:        nodepool renew {}\nRelease:      nodepool "
      "release {}\n",
      report::table_text(table), logins, file_summary, id,
      report::time_text_in_seconds({leased.lease.expires}), id, id);
}

}  // namespace

std::string lease_json(const requestor::LeasedNodes& leased,
                       const std::vector<std::string>& labels) {
  std::string nodes;
  for (std::size_t i = 0; i < leased.nodes.size(); ++i) {
    if (i > 0) nodes += ", ";
    nodes +=
        fmt::format(R"({{"id": {}, "label": {}, {})", model::json_string(leased.nodes[i].id).text,
                    model::json_string(labels.at(i)).text, to_record(leased.nodes[i]).substr(1));
  }
  return fmt::format(R"({{"lease": {}, "expires": {}, "nodes": [{}]}})",
                     model::json_string(leased.lease.id).text, leased.lease.expires, nodes);
}

void print_lease(Context& context, const requestor::LeasedNodes& leased,
                 const RequestNodes& command, LeaseFiles& files) {
  const std::vector<std::string> labels = labels_of(leased.nodes, command.labels);
  const std::vector<NodeAccess> nodes = access_to(leased.nodes, labels);
  files.write(nodes);
  context.out << (command.json ? lease_json(leased, labels) + "\n"
                               : lease_text(leased, nodes, files));
  context.out.flush();
}

void print_renewal(Context& context, const model::Lease& lease, double before) {
  context.out << fmt::format("Lease {} until {}\n", lease.id,
                             report::time_text_in_seconds({lease.expires}));
  if (lease.expires >= before) return;
  context.err << fmt::format(
      "nodepool: lease {} expires earlier than before ({}): --lease counts from now\n", lease.id,
      report::time_text_in_seconds({before}));
}

}  // namespace nodepool::cli
