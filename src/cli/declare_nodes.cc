#include "cli/declare.h"

namespace nodepool::cli {

namespace {

Operand node_ids(Read read) {
  return {.value = node_value("ID"),
          .help = "ids of nodes",
          .read = std::move(read),
          .count = Operand::Count::several};
}

Operand provider(Read read) {
  return {.value = provider_value(), .help = "the provider's name", .read = std::move(read)};
}

Declaration hold() {
  return {.name = "hold",
          .group = Group::nodes,
          .summary = "keep nodes for a person to look at, also when their lease ends",
          .command = HoldNodes{},
          .operands = {node_ids(into(&HoldNodes::ids))},
          .options = {
              {.names = "--reason",
               .value = {.name = "TEXT"},
               .help = "why, for the node's comment",
               .read = into(&HoldNodes::reason)},
              flag("--strict", "exit with 1 if there is no such node", into(&HoldNodes::strict))}};
}

Declaration remove() {
  return {.name = "delete",
          .group = Group::nodes,
          .summary = "have nodes deleted",
          .command = DeleteNodes{},
          .operands = {node_ids(into(&DeleteNodes::ids))},
          .options = {
              flag("--now", "delete them here and wait for it", into(&DeleteNodes::now)),
              flag("--strict", "exit with 1 if there is no such node, or --now finds no provider",
                   into(&DeleteNodes::strict))}};
}

Declaration erase() {
  return {.name = "erase",
          .group = Group::nodes,
          .summary = "forget all that is stored of a provider; its machines are left alone",
          .command = EraseProvider{},
          .operands = {provider(into(&EraseProvider::provider))},
          .options = {flag("--force", "do not ask", into(&EraseProvider::force))}};
}

Declaration leak_list() {
  Operand only = provider(into(&ListLeaks::provider));
  only.help = "only of this provider";
  only.count = Operand::Count::optional;
  return with_listing<ListLeaks>(
      {.name = "leak-list",
       .group = Group::nodes,
       .summary = "list what carries a provider's name in its cloud and has no record",
       .command = ListLeaks{},
       .operands = {std::move(only)}},
      {.can_watch = false});
}

Declaration leak_delete() {
  return {.name = "leak-delete",
          .group = Group::nodes,
          .summary = "delete some of what leak-list shows",
          .command = DeleteLeaks{},
          .operands = {provider(into(&DeleteLeaks::provider)),
                       {.value = {.name = "ID"},
                        .help = "what to delete, as leak-list shows it",
                        .read = into(&DeleteLeaks::ids),
                        .count = Operand::Count::several}}};
}

}  // namespace

std::vector<Declaration> node_declarations() {
  return {hold(), remove(), erase(), leak_list(), leak_delete()};
}

}  // namespace nodepool::cli
