#include "cli/declare.h"

namespace nodepool::cli {

namespace {

Operand labels(Read read) {
  return {.value = label_value(),
          .help = "Labels of the nodes, one per node",
          .read = std::move(read),
          .count = Operand::Count::several};
}

Option timeout(Read read) {
  return {.names = "--timeout",
          .value = duration_value(),
          .help = "How long to wait for the nodes [10m]",
          .read = std::move(read)};
}

Declaration request() {
  return {.name = "request",
          .group = Group::use,
          .summary = "Request nodes and lease them",
          .command = RequestNodes{},
          .operands = {labels(into(&RequestNodes::labels))},
          .options = {{.names = "--lease",
                       .value = duration_value(),
                       .help = "Length of the lease [2h]",
                       .read = into(&RequestNodes::lease)},
                      timeout(into(&RequestNodes::timeout)),
                      flag("--json", "Print JSON", into(&RequestNodes::json)),
                      {.names = "--ssh-config",
                       .value = {.name = "FILE", .is_file = true},
                       .help = "Write this file for ssh -F, and FILE.known_hosts",
                       .read = into(&RequestNodes::ssh_config)},
                      {.names = "--inventory",
                       .value = {.name = "FILE", .is_file = true},
                       .help = "Write this inventory for Ansible",
                       .read = into(&RequestNodes::inventory)},
                      {.names = "--key",
                       .value = {.name = "KEY"},
                       .help = "Idempotency key: a repeated request gets the same lease (--url)",
                       .read = into(&RequestNodes::key)}},
          .notes =
              "Exit status: 0 if the nodes are leased, 2 if no pool can provide them, 3 if the\n"
              "request timed out, 4 if the token, its rights or a limit do not allow it, or the\n"
              "launcher's certificate is not trusted."};
}

Declaration run() {
  return {
      .name = "run",
      .group = Group::use,
      .summary = "Run a command on nodes, then release them",
      .command = RunCommand{},
      .operands = {labels(into(&RunCommand::labels))},
      .options = {timeout(into(&RunCommand::timeout)),
                  flag("--hold-on-failure",
                       "Hold the nodes for inspection if COMMAND does not exit with 0",
                       into(&RunCommand::hold_on_failure))},
      .notes =
          "COMMAND finds the nodes through $NODEPOOL_SSH_CONFIG (ssh -F), $NODEPOOL_INVENTORY\n"
          "(ansible -i) and $NODEPOOL_NODE_<n>_HOST, _PORT, _USER, _LABEL and _ID.\n"
          "Exit status: the status of COMMAND, 128 + n if signal n ended it, 125 if there were\n"
          "no nodes, 126 if COMMAND cannot be run, 127 if it does not exist.",
      .read_rest = into(&RunCommand::command),
      .is_rest_required = true};
}

Declaration shell() {
  return {.name = "ssh",
          .group = Group::use,
          .summary = "Log in to a node, or run a command there",
          .command = UseShell{},
          .store_use = StoreUse::read,
          .operands = {{.value = lease_value("NODE|LEASE"),
                        .help = "ID of a node, or of a lease with one node",
                        .read = into(&UseShell::id)}},
          .options = {{.names = "-i,--identity",
                       .value = {.name = "FILE", .is_file = true},
                       .help = "Private key to log in with",
                       .read = into(&UseShell::identity)}},
          .notes =
              "Host keys are checked against those recorded when the node was launched. Your own\n"
              "~/.ssh/config applies to everything that the record does not set.\n"
              "Exit status: the status of COMMAND; 255 if the connection failed.",
          .read_rest = into(&UseShell::command)};
}

Declaration lease_list() {
  return with_listing<ListLeases>({.name = "lease-list",
                                   .group = Group::use,
                                   .summary = "List leases, their holders and when they expire",
                                   .command = ListLeases{}},
                                  {.filters = {{"label", "labels"},
                                               {"holder", "holder"},
                                               {"provider", "providers"},
                                               {"tenant", "tenants"}}});
}

Declaration renew() {
  return {.name = "renew",
          .group = Group::use,
          .summary = "Renew leases",
          .command = RenewLeases{},
          .operands = {{.value = lease_value(),
                        .help = "IDs of leases",
                        .read = into(&RenewLeases::leases),
                        .count = Operand::Count::several}},
          .options = {{.names = "--lease",
                       .value = duration_value(),
                       .help = "Length of the lease from now on [2h]",
                       .read = into(&RenewLeases::duration)}}};
}

Declaration release() {
  const auto validation_error = [](const Arguments& arguments) -> std::string {
    const auto& given = std::get<ReleaseNodes>(arguments.command);
    const int ways = (given.ids.empty() ? 0 : 1) + (given.all ? 1 : 0) + (given.mine ? 1 : 0);
    return ways == 1 ? "" : "give either IDs, or --mine, or --all";
  };
  return {
      .name = "release",
      .group = Group::use,
      .summary = "Release leases or nodes, end holds, or withdraw lease requests",
      .command = ReleaseNodes{},
      .operands = {{.value = lease_value("LEASE|NODE"),
                    .help = "IDs of leases, leased or held nodes, or lease requests",
                    .read = into(&ReleaseNodes::ids),
                    .count = Operand::Count::any}},
      .options =
          {flag("--mine",
                "Release all leases that this user made on this host, and withdraw their requests",
                into(&ReleaseNodes::mine)),
           flag("--all", "Release all leases, and withdraw all lease requests",
                into(&ReleaseNodes::all)),
           {.names = "--hold",
            .value = {.name = "REASON"},
            .help = "Hold the nodes for inspection instead of releasing them",
            .read = into(&ReleaseNodes::hold_reason)}},
      .validation_error = validation_error};
}

}  // namespace

std::vector<Declaration> use_declarations() {
  return {request(), run(), shell(), lease_list(), renew(), release()};
}

}  // namespace nodepool::cli
