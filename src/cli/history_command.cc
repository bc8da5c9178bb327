#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/each.h"
#include "cli/show.h"
#include "model/node.h"
#include "report/history_listing.h"
#include "report/launch_text.h"
#include "report/rendering/table_text.h"

namespace nodepool::cli {

namespace {

using report::Format;

// The history of one request or node.
struct History {
  std::string id;
  report::Table table;
  std::string launches;                   // traces of failed launches, for people
  std::vector<std::string> backing = {};  // the request and the node behind a metastatic node
};
using Histories = std::vector<History>;

std::vector<std::string> backing_ids(const std::vector<history::JournalEntry>& entries) {
  std::vector<std::string> ids;
  for (const history::JournalEntry& entry : entries) {
    if (const auto* asked = std::get_if<history::AskedFor>(&entry.facts)) {
      ids.push_back(asked->request);
    } else if (const auto* placed = std::get_if<history::PlacedOn>(&entry.facts)) {
      ids.push_back(placed->node);
    }
  }
  return ids;
}

Task<int> add_history(Installation& installation, std::string id, Histories& histories) {
  const std::vector<history::JournalEntry> entries = co_await installation.history(id);
  std::string launches;
  for (const history::JournalEntry& entry : entries) {
    const std::string text = report::launch_text(entry);
    if (!text.empty()) launches += "\n" + text + "\n";
  }
  histories.push_back({.id = std::move(id),
                       .table = report::history_listing(entries),
                       .launches = std::move(launches),
                       .backing = backing_ids(entries)});
  co_return 0;
}

// Adds the histories behind those of metastatic nodes: they belong to these.
Task<> add_backing_histories(Installation& installation, Histories& histories) {
  for (std::size_t i = 0; i < histories.size(); ++i) {
    const std::vector<std::string> ids = histories[i].backing;
    for (const std::string& id : ids) {
      if (std::ranges::find(histories, id, &History::id) != histories.end()) continue;
      try {
        co_await add_history(installation, id, histories);
      } catch (const std::runtime_error&) {
        // It is on another host, or too old.
      }
    }
  }
}

// One history is a list; several are an object with a list for each.
std::string json_of(const Histories& histories) {
  if (histories.size() == 1) return report::table_json(histories.front().table) + "\n";
  std::string text = "{";
  for (const History& known : histories) {
    if (text.size() > 1) text += ", ";
    text += model::json_string(known.id).text + ": " + report::table_json(known.table);
  }
  return text + "}\n";
}

std::string yaml_of(const Histories& histories) {
  if (histories.size() == 1) return report::table_yaml(histories.front().table) + "\n";
  std::string text;
  for (const History& known : histories) {
    text += model::json_string(known.id).text + ":\n" + report::table_yaml(known.table) + "\n";
  }
  return text;
}

bool is_for_people(Format format) {
  return format == Format::text || format == Format::wide;
}

// Prints them in the form of the listing.
void print_histories(Context& context, const Histories& histories, const Listing& listing) {
  if (listing.format == Format::json) {
    context.out << json_of(histories);
    return;
  }
  if (listing.format == Format::yaml) {
    context.out << yaml_of(histories);
    return;
  }
  for (const History& known : histories) {
    if (histories.size() > 1)
      context.out << (&known == &histories.front() ? "" : "\n") << known.id << ":\n";
    print(context, known.table, listing);
    if (is_for_people(listing.format)) context.out << known.launches;
  }
}

}  // namespace

Task<int> perform(Context& context, Installation& installation, ShowHistory command) {
  Histories histories;
  const Act act = [&installation, &histories](std::string id) {
    return add_history(installation, std::move(id), histories);
  };
  const int status = co_await for_each(context, command.ids, act);
  if (is_for_people(command.listing.format)) {
    co_await add_backing_histories(installation, histories);
  }
  if (!histories.empty()) print_histories(context, histories, command.listing);
  co_return status;
}

}  // namespace nodepool::cli
