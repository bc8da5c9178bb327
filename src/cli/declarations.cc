#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "cli/declare.h"
#include "config/duration.h"

namespace nodepool::cli {

std::string ArgumentValue::usage() const {
  return name.empty() ? fmt::format("{}", fmt::join(words, "|")) : name;
}

std::string_view heading(Group group) {
  switch (group) {
    case Group::use:
      return "Use nodes";
    case Group::inspect:
      return "Inspect";
    case Group::nodes:
      return "Nodes and providers";
    case Group::images:
      return "Images";
    case Group::site:
      break;
  }
  return "Administration";
}

std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  std::string_view rest = option.names;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    names.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return names;
}

bool has_name(const Option& option, std::string_view name) {
  const std::vector<std::string> names = names_of(option);
  return std::ranges::find(names, name) != names.end();
}

void write(std::chrono::seconds& target, const std::string& given) {
  const std::optional<std::chrono::seconds> parsed = config::parse_duration(given);
  if (!parsed) {
    throw BadValue("'" + given + "' is not a duration such as 90, 30s, 10m, 2h or 1d");
  }
  target = *parsed;
}

void write(std::optional<std::chrono::seconds>& target, const std::string& given) {
  write(target.emplace(), given);
}

Option flag(std::string names, std::string help, Read read) {
  return {.names = std::move(names), .value = {}, .help = std::move(help), .read = std::move(read)};
}

namespace {

using ListingPart = std::function<Listing&(Arguments&)>;

Option output_option(ListingPart listing, bool has_names) {
  static const std::map<std::string, report::Format, std::less<>> kFormats = {
      {"table", report::Format::text},
      {"wide", report::Format::wide},
      {"json", report::Format::json},
      {"yaml", report::Format::yaml},
      {"name", report::Format::names}};
  ArgumentValue value{.name = {}, .words = {"table", "wide", "json", "yaml"}};
  if (has_names) value.words.push_back("name");
  return {.names = "-o,--output",
          .value = std::move(value),
          .help = has_names ? "Output format; wide: all columns, name: one ID per line [table]"
                            : "Output format; wide: all columns [table]",
          .read = [listing = std::move(listing)](Arguments& arguments, const std::string& given) {
            listing(arguments).format = kFormats.at(given);
          }};
}

Option filter_option(ListingPart listing, const std::string& name, const std::string& column,
                     const std::vector<std::string>& states) {
  ArgumentValue value{.name = name};
  std::ranges::transform(name, value.name.begin(), [](char c) { return std::toupper(c); });
  if (name == "label") value = label_value();
  std::string help = "Only rows with this " + name + "; if repeated, with any of them";
  if (name == "state") {
    value.words = states;
    help += fmt::format(" ({})", fmt::join(states, ", "));
  }
  return {
      .names = "--" + name,
      .value = std::move(value),
      .help = std::move(help),
      .read = [listing = std::move(listing), column](
                  Arguments& arguments,
                  const std::string& text) { listing(arguments).filters[column].push_back(text); },
      .may_repeat = true};
}

}  // namespace

std::vector<Option> listing_options(const ListingPart& listing, const ListingOptions& which) {
  std::vector<Option> options = {output_option(listing, which.has_names)};
  options.push_back(flag("--json", "Same as -o json",
                         [listing](Arguments& arguments, const std::string& /*given*/) {
                           listing(arguments).format = report::Format::json;
                         }));
  options.push_back(flag("--no-headers", "Omit the column headers and the frame",
                         [listing](Arguments& arguments, const std::string& /*given*/) {
                           listing(arguments).headers = false;
                         }));
  for (const auto& [name, column] : which.filters) {
    options.push_back(filter_option(listing, name, column, which.states));
  }
  if (which.can_watch) {
    options.push_back(flag("--watch", "Print the list again after each change, until Ctrl-C",
                           [listing](Arguments& arguments, const std::string& /*given*/) {
                             listing(arguments).watch = true;
                             // A store that is opened for reading has no watches.
                             arguments.store_use = StoreUse::write;
                           }));
  }
  return options;
}

const std::vector<Declaration>& declarations() {
  static const std::vector<Declaration> kAll = [] {
    std::vector<Declaration> all;
    for (std::vector<Declaration> part :
         {use_declarations(), inspect_declarations(), node_declarations(), image_declarations(),
          site_declarations()}) {
      std::ranges::move(part, std::back_inserter(all));
    }
    return all;
  }();
  return kAll;
}

const std::vector<Option>& common_options() {
  const auto into = [](auto Arguments::* part) {
    return
        [part](Arguments& arguments, const std::string& given) { write(arguments.*part, given); };
  };
  const auto remote = [](auto Remote::* part) {
    return [part](Arguments& arguments, const std::string& given) {
      write(arguments.remote.*part, given);
    };
  };
  static const std::vector<Option> kOptions = {
      {.names = "-c",
       .value = {.name = "CONFIG", .is_file = true},
       .help = "Main configuration file [/etc/nodepool/nodepool.yaml]",
       .read =
           [](Arguments& arguments, const std::string& given) {
             arguments.config = given;
             arguments.is_config_given = true;
           }},
      {.names = "-s",
       .value = {.name = "SECURE", .is_file = true},
       .help = "File with secrets",
       .read = into(&Arguments::secure)},
      {.names = "-l,--logging-config",
       .value = {.name = "LOGCONFIG", .is_file = true},
       .help = "Logging configuration file",
       .read = into(&Arguments::log_config)},
      flag("-d,--debug", "Show debug messages", into(&Arguments::debug)),
      {.names = "--url",
       .value = {.name = "URL"},
       .help = "Use the request API at this URL instead of the store [$NODEPOOL_URL]",
       .read = remote(&Remote::url)},
      {.names = "--token-file",
       .value = {.name = "FILE", .is_file = true},
       .help = "File with the token for the API [$NODEPOOL_TOKEN_FILE, $NODEPOOL_TOKEN]",
       .read = remote(&Remote::token_file)},
      {.names = "--ca-file",
       .value = {.name = "FILE", .is_file = true},
       .help = "CA certificates to trust instead of the system's [$NODEPOOL_CA_FILE]",
       .read = remote(&Remote::ca_file)}};
  return kOptions;
}

}  // namespace nodepool::cli
