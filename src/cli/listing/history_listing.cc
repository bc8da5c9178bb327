#include "cli/listing/history_listing.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>

#include "model/node.h"

namespace nodepool::cli {

namespace {

using history::Entry;
using model::Json;

// "2026-11-21 04:40:12.345", local time.
std::string time_text(double time) {
  const auto milliseconds = static_cast<std::int64_t>(std::floor(time * 1000));
  const std::time_t seconds = milliseconds / 1000;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &local);
  return fmt::format("{}.{:03}", date.data(), milliseconds % 1000);
}

Json json_list(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (list.size() > 1) list += ", ";
    list += model::json_string(text).text;
  }
  return {list + "]"};
}

Json json_number(double number) {
  return {fmt::format("{:.3f}", number)};
}

}  // namespace

std::string pause_text(double seconds) {
  constexpr double kLong = 600;
  if (seconds < kLong) return fmt::format("{:.3f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Table history_listing(const std::vector<Entry>& entries, bool json) {
  const bool of_node = entries.front().subject == Entry::Subject::node;
  std::vector<Column> columns{{"time", "Time"},
                              {"after", "After"},
                              {"event", "Event"},
                              of_node ? Column{"request", "Request"} : Column{"nodes", "Nodes"},
                              {"details", "Details"}};
  if (json) columns.push_back({"data", "Data"});  // people have it in the details
  Table table(std::move(columns));
  const Entry* before = nullptr;
  for (const Entry& entry : entries) {
    Json after;
    if (before != nullptr) {
      const double pause = entry.time - before->time;
      after = json ? json_number(pause) : model::json_string(pause_text(pause));
    }
    Json related = json_list(entry.related);
    if (of_node)
      related = entry.related.empty() ? Json() : model::json_string(entry.related.front());
    std::vector<Json> row{
        json ? json_number(entry.time) : model::json_string(time_text(entry.time)),
        std::move(after), model::json_string(entry.event), std::move(related),
        model::json_string(entry.details)};
    if (json) row.push_back(entry.data.empty() ? Json() : Json{entry.data});
    table.add(std::move(row));
    before = &entry;
  }
  return table;
}

}  // namespace nodepool::cli
