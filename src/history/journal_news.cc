#include "history/journal_news.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "history/locked_file.h"

namespace nodepool::history {

namespace {

constexpr std::int64_t kMostAtOnce = 4 << 20;  // bytes

// The text of the file after `seen` bytes; only the end if it is long.
std::string beyond(const LockedFile& file, std::int64_t seen) {
  return file.tail(std::clamp<std::int64_t>(file.size() - seen, 0, kMostAtOnce));
}

}  // namespace

JournalNews::JournalNews(Journal journal, std::vector<std::string> events)
    : journal_(std::move(journal)), events_(std::move(events)) {}

std::vector<JournalEntry> JournalNews::poll() {
  std::vector<JournalEntry> found;
  const auto current = LockedFile::open(journal_.current(), LockedFile::Access::read);
  if (!current) return found;
  const bool is_rotated = current->size() < seen_;
  const bool is_first = seen_ == 0;
  if (is_rotated || is_first) {
    const auto previous = LockedFile::open(journal_.previous(), LockedFile::Access::read);
    if (previous) collect(beyond(*previous, seen_), found);
    seen_ = 0;
  }
  const std::string text = beyond(*current, seen_);
  seen_ = current->size();
  collect(text, found);
  return found;
}

void JournalNews::collect(std::string_view text, std::vector<JournalEntry>& found) const {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto is_reported = [line](const std::string& event) { return may_report(line, event); };
    if (std::ranges::none_of(events_, is_reported)) continue;
    std::optional<JournalEntry> entry = parse_line(line);
    if (entry) found.push_back(std::move(*entry));
  }
}

}  // namespace nodepool::history
