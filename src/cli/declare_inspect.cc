#include "cli/declare.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::cli {

namespace {

Declaration installation_status() {
  return with_listing<ShowStatus>(
      {.name = "status",
       .group = Group::inspect,
       .summary = "Show the health of the installation, and what needs attention",
       .command = ShowStatus{},
       .options = {{.names = "--waiting",
                    .value = duration_value(),
                    .help = "How long a request may wait before it needs attention [10m]",
                    .read = into(&ShowStatus::waiting)}},
       .notes = "Exit status: 0 if nothing needs attention, 1 if something does, 2 if no launcher\n"
                "is alive or the store cannot be read."},
      {.has_names = false, .can_watch = false});
}

Declaration list() {
  return with_listing<ListNodes>(
      {.name = "list",
       .group = Group::inspect,
       .summary = "List nodes",
       .command = ListNodes{},
       .options = {flag("--detail", "Show all columns that the Python Nodepool shows",
                        into(&ListNodes::detail))}},
      {.filters =
           {{"label", "label"}, {"state", "state"}, {"provider", "provider"}, {"tenant", "tenant"}},
       .states = names_of_states(model::kAllNodeStates)});
}

Declaration request_list() {
  return with_listing<ListRequests>({.name = "request-list",
                                     .group = Group::inspect,
                                     .summary = "List requests for nodes",
                                     .command = ListRequests{}},
                                    {.filters = {{"label", "node_types"},
                                                 {"state", "state"},
                                                 {"provider", "provider"},
                                                 {"tenant", "tenant"}},
                                     .states = names_of_states(model::kAllRequestStates)});
}

Declaration label_list() {
  return with_listing<ListLabels>({.name = "label-list",
                                   .group = Group::inspect,
                                   .summary = "List labels that can be requested",
                                   .command = ListLabels{}},
                                  {.filters = {{"label", "label"}}});
}

Declaration explain() {
  return {
      .name = "explain",
      .group = Group::inspect,
      .summary = "Show why a request waits, or the state of a node, lease, label or host",
      .command = Explain{},
      .store_use = StoreUse::read,
      .operands = {{.value = {.name = "REQUEST|LABEL|NODE|LEASE|HOST", .listed_by = "label-list"},
                    .help = "IDs, or names of labels or static hosts",
                    .read = into(&Explain::subjects),
                    .count = Operand::Count::several}},
      .options = {
          flag("--online", "Also query the clouds for their quota and for what a node uses",
               into(&Explain::online)),
          flag("--json", "Print JSON: a list with one object per subject", into(&Explain::json))}};
}

Declaration history() {
  return with_listing<ShowHistory>(
      {.name = "history",
       .group = Group::inspect,
       .summary = "Show the history of nodes or requests, also of deleted ones",
       .command = ShowHistory{},
       .operands = {{.value = node_value("NODE|REQUEST"),
                     .help = "IDs of nodes or requests",
                     .read = into(&ShowHistory::ids),
                     .count = Operand::Count::several}}},
      {.has_names = false, .can_watch = false});
}

Declaration info() {
  return with_listing<ProviderInfo>({.name = "info",
                                     .group = Group::inspect,
                                     .summary = "Show the records of a provider",
                                     .command = ProviderInfo{},
                                     .operands = {{.value = provider_value(),
                                                   .help = "Name of the provider",
                                                   .read = into(&ProviderInfo::provider)}}},
                                    {.can_watch = false});
}

}  // namespace

std::vector<Declaration> inspect_declarations() {
  return {
      installation_status(), list(), request_list(), label_list(), explain(), history(), info()};
}

}  // namespace nodepool::cli
