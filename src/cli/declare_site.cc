#include "cli/declare.h"

namespace nodepool::cli {

namespace {

Declaration validate() {
  return {.name = "config-validate",
          .group = Group::site,
          .summary = "Validate the configuration file",
          .command = ValidateConfig{},
          .store_use = StoreUse::read,
          .options = {flag("--online", "Also check that each cloud has what the file names",
                           into(&ValidateConfig::online))}};
}

Declaration schema() {
  return {.name = "config-schema",
          .group = Group::site,
          .summary = "Print the JSON Schema of the configuration file, for editors",
          .command = PrintConfigSchema{}};
}

Declaration convert() {
  return {.name = "convert",
          .group = Group::site,
          .summary = "Print the configuration for Zuul's own launcher",
          .command = ConvertConfig{},
          .options = {{.names = "--to",
                       .value = {.name = {}, .words = {"zuul"}},
                       .help = "Format: objects of Zuul's configuration",
                       .read = into(&ConvertConfig::to),
                       .is_required = true}},
          .notes =
              "Prints YAML for a config project of Zuul's tenants, after the connections for\n"
              "zuul.conf as comments. What has no counterpart in Zuul is reported on standard\n"
              "error, with its place in the file. Contains no credentials, and of environment\n"
              "variables only numbers."};
}

Declaration copy() {
  return {
      .name = "store copy",
      .group = Group::site,
      .summary = "Copy all records from one store to another, while both are unused",
      .command = CopyStore{},
      .operands = {{.value = {.name = "FROM"},
                    .help = "Source: `zookeeper` as configured, or `sqlite:///path`",
                    .read = into(&CopyStore::from)},
                   {.value = {.name = "TO"},
                    .help = "Target, in the same form",
                    .read = into(&CopyStore::to)}},
      .options = {flag("--replace", "Delete the records in TO first", into(&CopyStore::replace))}};
}

Declaration token() {
  return {
      .name = "token-create",
      .group = Group::site,
      .summary = "Create a token for the request API",
      .command = CreateToken{},
      .operands = {{.value = {.name = "NAME"},
                    .help = "Name of the client, the owner of its requests and leases",
                    .read = into(&CreateToken::name)}},
      .options = {{.names = "--scope",
                   .value = {.name = {}, .words = {"read", "request", "admin"}},
                   .help = "What the token permits [request]",
                   .read = into(&CreateToken::scope)},
                  {.names = "--tenant",
                   .value = {.name = "TENANT"},
                   .help = "The only tenant that the client sees and uses; `any`: all tenants",
                   .read = into(&CreateToken::tenant)},
                  {.names = "--labels",
                   .value = {.name = "LABEL,..."},
                   .help = "The only labels that the client may request",
                   .read = into(&CreateToken::labels)},
                  {.names = "--priorities",
                   .value = {.name = "PRIORITY,..."},
                   .help = "The only priorities that the client may use: high, normal, low",
                   .read = into(&CreateToken::priorities)},
                  {.names = "--max-nodes",
                   .value = {.name = "NUMBER"},
                   .help = "Maximum number of nodes at a time",
                   .read = into(&CreateToken::max_nodes)},
                  {.names = "--max-lease",
                   .value = duration_value(),
                   .help = "Maximum length of a lease",
                   .read = into(&CreateToken::max_lease)},
                  {.names = "--expires",
                   .value = {.name = "DAY"},
                   .help = "Day on which the token expires: 2027-01-31",
                   .read = into(&CreateToken::expires)}},
      .notes =
          "The token is printed once, together with its entry for the file that `api: tokens:`\n"
          "names. The entry contains a hash, not the token."};
}

Declaration help() {
  return {.name = "help",
          .group = Group::site,
          .summary = "Show the help of a command",
          .command = std::nullopt,
          .operands = {{.value = {.name = "COMMAND"},
                        .help = "The command; all commands if omitted",
                        .read = {},
                        .count = Operand::Count::any}}};
}

}  // namespace

std::vector<Declaration> site_declarations() {
  return {validate(), schema(), convert(), copy(), token(), help()};
}

}  // namespace nodepool::cli
