#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/histories.h"
#include "cli/show.h"
#include "config/load.h"
#include "json/json.h"
#include "model/node.h"
#include "program/journal.h"
#include "report/history_listing.h"
#include "report/launch_text.h"
#include "report/rendering/table_text.h"

namespace nodepool::cli {

namespace {

using report::Format;

// Throws std::runtime_error if there are none.
std::vector<history::JournalEntry> entries_of(const history::Journal& journal,
                                              const std::string& id, double now) {
  std::vector<history::JournalEntry> entries = history::entries_of(journal, id, now);
  if (entries.empty()) {
    throw std::runtime_error(
        fmt::format("the history in {} has no entries for {}", journal.directory, id));
  }
  return entries;
}

// Adds the request and the node behind a metastatic node: their histories belong to its own.
void add_backing_ids(std::vector<std::string>& ids,
                     const std::vector<history::JournalEntry>& entries) {
  for (const history::JournalEntry& entry : entries) {
    if (entry.event != "asks" && entry.event != "on") continue;
    try {
      const json::Json data = json::parse(entry.data);
      std::string id = data.at(entry.event == "on" ? "node" : "request").get<std::string>();
      if (std::ranges::find(ids, id) == ids.end()) ids.push_back(std::move(id));
    } catch (const std::exception&) {
      // Written by another release.
    }
  }
}

// One history is a list; several are an object with a list for each.
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

History to_history(const std::vector<history::JournalEntry>& entries) {
  std::string launches;
  for (const history::JournalEntry& entry : entries) {
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
  std::vector<std::string> ids = command.ids;
  const Format format = command.listing.format;
  const bool is_for_people =
      format != Format::names && format != Format::json && format != Format::yaml;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    try {
      const std::vector<history::JournalEntry> entries = entries_of(journal, ids[i], now);
      histories.emplace_back(ids[i], to_history(entries));
      if (is_for_people) add_backing_ids(ids, entries);
    } catch (const std::runtime_error& error) {
      if (i >= command.ids.size()) continue;  // added by add_backing_ids()
      context.err << "nodepool: " << error.what() << '\n';
      status = 1;
    }
  }
  if (!histories.empty()) print_histories(context, histories, command.listing);
  return status;
}

}  // namespace nodepool::cli
