#include "history/waits.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "history/locked_file.h"

namespace nodepool::history {

namespace {

constexpr std::int64_t kEnd = 1 << 20;  // bytes

// Adds the wait that the line reports, if it does.
void collect(std::string_view line, Waits& waits) {
  if (!may_report(line, "fulfilled")) return;
  const std::optional<JournalEntry> entry = parse_line(line);
  const Waited* waited = entry ? std::get_if<Waited>(&entry->facts) : nullptr;
  if (waited == nullptr) return;
  std::vector<double>& same = waits[waited->labels];
  same.push_back(waited->seconds);
  if (same.size() > kMostWaits) same.erase(same.begin());
}

}  // namespace

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
