#include "history/waits.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "history/locked_file.h"
#include "json/json.h"

namespace nodepool::history {

namespace {

using json::Json;

constexpr std::int64_t kEnd = 1 << 20;  // bytes
constexpr std::string_view kEvent = "fulfilled";

// Adds the wait that the line reports, if it does.
void collect(std::string_view line, Waits& waits) {
  if (!line.contains(kEvent)) return;  // much cheaper than parsing
  const std::optional<JournalEntry> entry = parse_line(line);
  if (!entry || entry->event != kEvent || entry->data.empty()) return;
  try {
    const Json data = json::parse(entry->data);
    const auto labels = data.at("labels").get<std::vector<std::string>>();
    const auto seconds = data.at("seconds").get<double>();
    std::vector<double>& same = waits[labels];
    same.push_back(seconds);
    if (same.size() > kMostWaits) same.erase(same.begin());
  } catch (const Json::exception&) {
    return;  // written by another version
  }
}

}  // namespace

std::string wait_data(std::vector<std::string> labels, double seconds) {
  std::ranges::sort(labels);
  const Json data{{"labels", std::move(labels)}, {"seconds", seconds}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Waits recent_waits(const Journal& journal) {
  Waits waits;
  const auto file = LockedFile::open(journal.current(), LockedFile::Access::read);
  if (!file) return waits;
  const std::string text = file->tail(kEnd);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t newline = rest.find('\n');
    collect(rest.substr(0, newline), waits);
    rest = newline == std::string_view::npos ? "" : rest.substr(newline + 1);
  }
  return waits;
}

double usual_wait(std::vector<double> waits) {
  const std::size_t last = (waits.size() * 4 + 4) / 5 - 1;
  std::ranges::nth_element(waits, waits.begin() + static_cast<std::ptrdiff_t>(last));
  return waits[last];
}

}  // namespace nodepool::history
