#include "cli/declare.h"

namespace nodepool::cli {

namespace {

Operand node_ids(Read read) {
  return {.value = node_value("ID"),
          .help = "IDs of nodes",
          .read = std::move(read),
          .count = Operand::Count::several};
}

Operand provider(Read read) {
  return {.value = provider_value(), .help = "Name of the provider", .read = std::move(read)};
}

Declaration hold() {
  return {.name = "hold",
          .group = Group::nodes,
          .summary = "Hold nodes for inspection, also after their lease ends",
          .command = HoldNodes{},
          .operands = {node_ids(into(&HoldNodes::ids))},
          .options = {
              {.names = "--reason",
               .value = {.name = "TEXT"},
               .help = "Reason, written to the node's comment",
               .read = into(&HoldNodes::reason)},
              flag("--strict", "Exit with 1 if a node does not exist", into(&HoldNodes::strict))}};
}

Declaration remove() {
  return {.name = "delete",
          .group = Group::nodes,
          .summary = "Delete nodes",
          .command = DeleteNodes{},
          .operands = {node_ids(into(&DeleteNodes::ids))},
          .options = {
              flag("--now", "Delete them in this process, and wait until they are gone",
                   into(&DeleteNodes::now)),
              flag("--strict", "Exit with 1 if a node does not exist, or --now finds no provider",
                   into(&DeleteNodes::strict))}};
}

Declaration erase() {
  return {.name = "erase",
          .group = Group::nodes,
          .summary = "Erase all records of a provider; its machines are kept",
          .command = EraseProvider{},
          .operands = {provider(into(&EraseProvider::provider))},
          .options = {flag("--force", "Do not ask for confirmation", into(&EraseProvider::force))}};
}

Declaration leak_list() {
  Operand only = provider(into(&ListLeaks::provider));
  only.help = "Only leaks of this provider";
  only.count = Operand::Count::optional;
  return with_listing<ListLeaks>(
      {.name = "leak-list",
       .group = Group::nodes,
       .summary = "List leaks: resources in clouds with an owner tag and no record",
       .command = ListLeaks{},
       .operands = {std::move(only)}},
      {.can_watch = false});
}

Declaration leak_delete() {
  return {.name = "leak-delete",
          .group = Group::nodes,
          .summary = "Delete leaks",
          .command = DeleteLeaks{},
          .operands = {provider(into(&DeleteLeaks::provider)),
                       {.value = {.name = "ID"},
                        .help = "IDs of leaks, as shown by leak-list",
                        .read = into(&DeleteLeaks::ids),
                        .count = Operand::Count::several}}};
}

}  // namespace

std::vector<Declaration> node_declarations() {
  return {hold(), remove(), erase(), leak_list(), leak_delete()};
}

}  // namespace nodepool::cli
