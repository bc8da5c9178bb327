#include <fmt/format.h>

#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/histories.h"
#include "cli/show.h"
#include "config/load.h"
#include "model/node.h"
#include "program/journal.h"
#include "report/history_listing.h"
#include "report/launch_text.h"
#include "report/rendering/table_text.h"

namespace nodepool::cli {

namespace {

using report::Format;

// Throws std::runtime_error if there is nothing.
History history_of(const history::Journal& journal, const std::string& id, double now) {
  const std::vector<history::Entry> entries = history::entries_of(journal, id, now);
  if (entries.empty()) {
    throw std::runtime_error(
        fmt::format("the history in {} has nothing about {}", journal.directory, id));
  }
  return to_history(entries);
}

// One is a list; several are an object with a list for each.
std::string json_of(const Histories& histories) {
  if (histories.size() == 1) return report::table_json(histories.front().second.table) + "\n";
  std::string text = "{";
  for (const auto& [id, known] : histories) {
    if (text.size() > 1) text += ", ";
    text += model::json_string(id).text + ": " + report::table_json(known.table);
  }
  return text + "}\n";
}

std::string yaml_of(const Histories& histories) {
  if (histories.size() == 1) return report::table_yaml(histories.front().second.table) + "\n";
  std::string text;
  for (const auto& [id, known] : histories) {
    text += model::json_string(id).text + ":\n" + report::table_yaml(known.table) + "\n";
  }
  return text;
}

}  // namespace

History to_history(const std::vector<history::Entry>& entries) {
  std::string launches;
  for (const history::Entry& entry : entries) {
    const std::string text = report::launch_text(entry);
    if (!text.empty()) launches += "\n" + text + "\n";
  }
  return {report::history_listing(entries), std::move(launches)};
}

void print_histories(Context& context, const Histories& histories, const Listing& listing) {
  if (listing.format == Format::json) {
    context.out << json_of(histories);
    return;
  }
  if (listing.format == Format::yaml) {
    context.out << yaml_of(histories);
    return;
  }
  const bool is_for_people = listing.format != Format::names;
  for (const auto& [id, known] : histories) {
    if (histories.size() > 1)
      context.out << (id == histories.front().first ? "" : "\n") << id << ":\n";
    print(context, known.table, listing);
    if (is_for_people) context.out << known.launches;
  }
}

int perform(Context& context, const Arguments& arguments, const ShowHistory& command,
            const std::shared_ptr<telemetry::Log>& /*log*/) {
  config::LoadOptions options{arguments.config, arguments.secure, context.environment,
                              context.drivers.schemas()};
  const history::Journal journal = program::journal_of(config::load(options).config);
  const double now = context.runtime.clock.wall_seconds();
  Histories histories;
  int status = 0;
  for (const std::string& id : command.ids) {
    try {
      histories.emplace_back(id, history_of(journal, id, now));
    } catch (const std::runtime_error& error) {
      context.err << "nodepool: " << error.what() << '\n';
      status = 1;
    }
  }
  if (!histories.empty()) print_histories(context, histories, command.listing);
  return status;
}

}  // namespace nodepool::cli
