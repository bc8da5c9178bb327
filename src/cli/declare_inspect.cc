#include "cli/declare.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::cli {

namespace {

Declaration installation_status() {
  return with_listing<ShowStatus>(
      {.name = "status",
       .group = Group::look,
       .summary = "say how the installation is doing, and what needs somebody",
       .command = ShowStatus{},
       .options = {{.names = "--waiting",
                    .value = duration_value(),
                    .help = "how long a request may wait [10m]",
                    .read = into(&ShowStatus::waiting)}},
       .notes = "Exit status: 0 when all is well, 1 when something needs somebody, 2 when no\n"
                "launcher is alive or the store cannot be read."},
      {.has_names = false, .can_watch = false});
}

Declaration list() {
  return with_listing<ListNodes>(
      {.name = "list",
       .group = Group::look,
       .summary = "list nodes",
       .command = ListNodes{},
       .options = {flag("--detail", "show everything that the Python Nodepool knows of each node",
                        into(&ListNodes::detail))}},
      {.filters =
           {{"label", "label"}, {"state", "state"}, {"provider", "provider"}, {"tenant", "tenant"}},
       .states = names_of_states(model::kAllNodeStates)});
}

Declaration request_list() {
  return with_listing<ListRequests>({.name = "request-list",
                                     .group = Group::look,
                                     .summary = "list the requests for nodes",
                                     .command = ListRequests{}},
                                    {.filters = {{"label", "node_types"},
                                                 {"state", "state"},
                                                 {"provider", "provider"},
                                                 {"tenant", "tenant"}},
                                     .states = names_of_states(model::kAllRequestStates)});
}

Declaration label_list() {
  return with_listing<ListLabels>({.name = "label-list",
                                   .group = Group::look,
                                   .summary = "list the labels that can be requested",
                                   .command = ListLabels{}},
                                  {.filters = {{"label", "label"}}});
}

Declaration explain() {
  return {
      .name = "explain",
      .group = Group::look,
      .summary = "say why a request waits, how a node, lease, label or host is doing",
      .command = Explain{},
      .operands = {{.value = {.name = "REQUEST|LABEL|NODE|LEASE|HOST", .listed_by = "label-list"},
                    .help = "ids, or names of labels or of static hosts",
                    .read = into(&Explain::subjects),
                    .count = Operand::Count::several}},
      .options = {
          flag("--online", "also ask the clouds what they allow and what a node takes",
               into(&Explain::online)),
          flag("--json", "print JSON: a list with an object for each", into(&Explain::json))}};
}

Declaration history() {
  return with_listing<ShowHistory>(
      {.name = "history",
       .group = Group::look,
       .summary = "show what has happened to nodes or requests, also when they are gone",
       .command = ShowHistory{},
       .operands = {{.value = node_value("NODE|REQUEST"),
                     .help = "ids",
                     .read = into(&ShowHistory::ids),
                     .count = Operand::Count::several}}},
      {.has_names = false, .can_watch = false});
}

Declaration info() {
  return with_listing<ProviderInfo>({.name = "info",
                                     .group = Group::look,
                                     .summary = "show what is stored of a provider",
                                     .command = ProviderInfo{},
                                     .operands = {{.value = provider_value(),
                                                   .help = "the provider's name",
                                                   .read = into(&ProviderInfo::provider)}}},
                                    {.can_watch = false});
}

}  // namespace

std::vector<Declaration> inspect_declarations() {
  return {
      installation_status(), list(), request_list(), label_list(), explain(), history(), info()};
}

}  // namespace nodepool::cli
