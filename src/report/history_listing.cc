#include "report/history_listing.h"

#include <string>
#include <utility>

#include "model/node.h"
#include "report/values.h"

namespace nodepool::report {

using history::JournalEntry;
using model::Json;
using model::json_string;

Table history_listing(const std::vector<JournalEntry>& entries) {
  const bool of_node = entries.front().subject == JournalEntry::Subject::node;
  Table table({{.key = "time", .header = "Time", .too_wide = TooWide::kept},
               {.key = "after", .header = "After", .too_wide = TooWide::kept},
               {"event", "Event"},
               of_node ? Column{"request", "Request"} : Column{"nodes", "Nodes"},
               {.key = "details", .header = "Details", .too_wide = TooWide::wrapped},
               {"data", ""}});  // for programs
  const JournalEntry* before = nullptr;
  for (const JournalEntry& entry : entries) {
    Cell after = Json();
    if (before != nullptr) after = Duration{entry.time - before->time};
    Json related = json_of(entry.related);
    if (of_node) related = entry.related.empty() ? Json() : json_string(entry.related.front());
    const std::string data = to_json(entry.facts);
    table.add({Time{entry.time}, std::move(after), json_string(entry.event), std::move(related),
               json_string(entry.details), data.empty() ? Json() : Json{data}});
    before = &entry;
  }
  return table;
}

}  // namespace nodepool::report
