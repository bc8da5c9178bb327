#include "cli/declare.h"

namespace nodepool::cli {

namespace {

Operand labels(Read read) {
  return {.value = label_value(),
          .help = "the labels of the nodes, one for each",
          .read = std::move(read),
          .count = Operand::Count::several};
}

Option timeout(Read read) {
  return {.names = "--timeout",
          .value = duration_value(),
          .help = "how long to wait for the nodes [10m]",
          .read = std::move(read)};
}

Declaration request() {
  return {.name = "request",
          .group = Group::use,
          .summary = "get nodes for a time",
          .command = RequestNodes{},
          .operands = {labels(into(&RequestNodes::labels))},
          .options = {{.names = "--lease",
                       .value = duration_value(),
                       .help = "how long to have them [2h]",
                       .read = into(&RequestNodes::lease)},
                      timeout(into(&RequestNodes::timeout)),
                      flag("--json", "print JSON", into(&RequestNodes::json)),
                      {.names = "--ssh-config",
                       .value = {.name = "FILE", .is_file = true},
                       .help = "write this file for ssh -F, and FILE.known_hosts",
                       .read = into(&RequestNodes::ssh_config)},
                      {.names = "--inventory",
                       .value = {.name = "FILE", .is_file = true},
                       .help = "write this inventory for Ansible",
                       .read = into(&RequestNodes::inventory)},
                      {.names = "--key",
                       .value = {.name = "KEY"},
                       .help = "whoever asks again with this gets the same lease (--url)",
                       .read = into(&RequestNodes::key)}},
          .notes =
              "Exit status: 0 when the nodes are there, 2 when no pool can provide them,\n"
              "3 when they were not there in time."};
}

Declaration run() {
  return {.name = "run",
          .group = Group::use,
          .summary = "run a command that uses nodes, then give them back",
          .command = RunCommand{},
          .operands = {labels(into(&RunCommand::labels))},
          .options = {timeout(into(&RunCommand::timeout)),
                      flag("--hold-on-failure",
                           "keep the nodes for a look if COMMAND does not end with 0",
                           into(&RunCommand::hold_on_failure))},
          .notes =
              "COMMAND finds the nodes through $NODEPOOL_SSH_CONFIG (ssh -F), $NODEPOOL_INVENTORY\n"
              "(ansible -i) and $NODEPOOL_NODE_<n>_HOST, _PORT, _USER, _LABEL and _ID.\n"
              "Exit status: that of COMMAND, 128 + n when signal n ended it; 125 when there were\n"
              "no nodes, 126 when COMMAND cannot be run, 127 when it does not exist.",
          .read_rest = into(&RunCommand::command),
          .is_rest_required = true};
}

Declaration shell() {
  return {.name = "ssh",
          .group = Group::use,
          .summary = "log in at a node, or run a command there",
          .command = UseShell{},
          .operands = {{.value = lease_value("NODE|LEASE"),
                        .help = "the id of a node, or of a lease that has one node",
                        .read = into(&UseShell::id)}},
          .options = {{.names = "-i,--identity",
                       .value = {.name = "FILE", .is_file = true},
                       .help = "the private key to log in with",
                       .read = into(&UseShell::identity)}},
          .notes =
              "The host keys are those that were recorded when the node was made. Your own\n"
              "~/.ssh/config is read for all that the record does not say.\n"
              "Exit status: that of ssh, which is that of COMMAND; 255 if it did not get there.",
          .read_rest = into(&UseShell::command)};
}

Declaration lease_list() {
  return with_listing<ListLeases>({.name = "lease-list",
                                   .group = Group::use,
                                   .summary = "list leases: whose they are, and until when",
                                   .command = ListLeases{}},
                                  {.filters = {{"label", "labels"},
                                               {"holder", "holder"},
                                               {"provider", "providers"},
                                               {"tenant", "tenants"}}});
}

Declaration renew() {
  return {.name = "renew",
          .group = Group::use,
          .summary = "have nodes for longer",
          .command = RenewLeases{},
          .operands = {{.value = lease_value(),
                        .help = "ids of leases",
                        .read = into(&RenewLeases::leases),
                        .count = Operand::Count::several}},
          .options = {{.names = "--lease",
                       .value = duration_value(),
                       .help = "for how long from now [2h]",
                       .read = into(&RenewLeases::duration)}}};
}

Declaration release() {
  const auto validation_error = [](const Arguments& arguments) -> std::string {
    const auto& given = std::get<ReleaseNodes>(std::get<OnlineCommand>(arguments.command));
    const int ways = (given.ids.empty() ? 0 : 1) + (given.all ? 1 : 0) + (given.mine ? 1 : 0);
    return ways == 1 ? "" : "say which: ids, or --mine, or --all";
  };
  return {.name = "release",
          .group = Group::use,
          .summary = "give nodes back",
          .command = ReleaseNodes{},
          .operands = {{.value = lease_value("LEASE|NODE"),
                        .help = "ids of leases, or of single nodes",
                        .read = into(&ReleaseNodes::ids),
                        .count = Operand::Count::any}},
          .options = {flag("--mine", "all leases that this user has made on this host",
                           into(&ReleaseNodes::mine)),
                      flag("--all", "all leases, whoever has made them", into(&ReleaseNodes::all)),
                      {.names = "--hold",
                       .value = {.name = "REASON"},
                       .help = "do not give them back, but keep them for a person to look at",
                       .read = into(&ReleaseNodes::hold_reason)}},
          .validation_error = validation_error};
}

}  // namespace

std::vector<Declaration> use_declarations() {
  return {request(), run(), shell(), lease_list(), renew(), release()};
}

}  // namespace nodepool::cli
