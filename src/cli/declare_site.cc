#include "cli/declare.h"

namespace nodepool::cli {

namespace {

Declaration validate() {
  return {.name = "config-validate",
          .group = Group::site,
          .summary = "check the configuration file",
          .command = ValidateConfig{},
          .options = {flag("--online", "also ask each cloud whether it has what the file names",
                           into(&ValidateConfig::online))}};
}

Declaration schema() {
  return {.name = "config-schema",
          .group = Group::site,
          .summary = "print the JSON Schema of the configuration file, for editors",
          .command = PrintConfigSchema{}};
}

Declaration copy() {
  return {.name = "store copy",
          .group = Group::site,
          .summary = "copy all records from one store to another, while nobody uses either",
          .command = CopyStore{},
          .operands = {{.value = {.name = "FROM"},
                        .help = "`zookeeper` as configured, or `sqlite:///path`",
                        .read = into(&CopyStore::from)},
                       {.value = {.name = "TO"}, .help = "the same", .read = into(&CopyStore::to)}},
          .options = {flag("--replace", "remove what TO has", into(&CopyStore::replace))}};
}

Declaration token() {
  return {.name = "token-create",
          .group = Group::site,
          .summary = "make a token of the request API",
          .command = CreateToken{},
          .operands = {{.value = {.name = "NAME"},
                        .help = "the client; its requests and leases are owned by that name",
                        .read = into(&CreateToken::name)}},
          .options = {{.names = "--scope",
                       .value = {.name = {}, .words = {"read", "request", "admin"}},
                       .help = "what it may do [request]",
                       .read = into(&CreateToken::scope)},
                      {.names = "--tenant",
                       .value = {.name = "TENANT"},
                       .help = "the only tenant that it sees and asks for; `any`: all tenants",
                       .read = into(&CreateToken::tenant)},
                      {.names = "--labels",
                       .value = {.name = "LABEL,…"},
                       .help = "the only labels that it may ask for",
                       .read = into(&CreateToken::labels)},
                      {.names = "--priorities",
                       .value = {.name = "PRIORITY,…"},
                       .help = "the only priorities that it may ask with: high, normal, low",
                       .read = into(&CreateToken::priorities)},
                      {.names = "--max-nodes",
                       .value = {.name = "NUMBER"},
                       .help = "how many it may have at a time",
                       .read = into(&CreateToken::max_nodes)},
                      {.names = "--max-lease",
                       .value = duration_value(),
                       .help = "the longest lease it gets",
                       .read = into(&CreateToken::max_lease)},
                      {.names = "--expires",
                       .value = {.name = "DAY"},
                       .help = "when it stops being valid: 2027-01-31",
                       .read = into(&CreateToken::expires)}},
          .notes =
              "The token is printed once, and the entry for the file that `api: tokens:` names:\n"
              "that has what a token is checked against, not the token."};
}

Declaration help() {
  return {.name = "help",
          .group = Group::site,
          .summary = "say what a command does and takes",
          .command = std::nullopt,
          .operands = {{.value = {.name = "COMMAND"},
                        .help = "the command; all of them if there is none",
                        .read = {},
                        .count = Operand::Count::any}}};
}

}  // namespace

std::vector<Declaration> site_declarations() {
  return {validate(), schema(), copy(), token(), help()};
}

}  // namespace nodepool::cli
