#include "history/journal_news.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "history/locked_file.h"

namespace nodepool::history {

namespace {

constexpr std::int64_t kMostAtOnce = 4 << 20;  // bytes

// What the file has beyond `seen`, the end of it if that is much.
std::string beyond(const LockedFile& file, std::int64_t seen) {
  return file.tail(std::clamp<std::int64_t>(file.size() - seen, 0, kMostAtOnce));
}

}  // namespace

JournalNews::JournalNews(Journal journal, std::function<bool(std::string_view)> wanted)
    : journal_(std::move(journal)), wanted_(std::move(wanted)) {}

std::vector<Entry> JournalNews::look() {
  std::vector<Entry> found;
  const auto current = LockedFile::open(journal_.current(), LockedFile::Access::read);
  if (!current) return found;
  const bool is_another = current->size() < seen_;  // that file is the previous one now
  const bool is_first = seen_ == 0;
  if (is_another || is_first) {
    const auto previous = LockedFile::open(journal_.previous(), LockedFile::Access::read);
    if (previous) collect(beyond(*previous, seen_), found);
    seen_ = 0;
  }
  const std::string text = beyond(*current, seen_);
  seen_ = current->size();
  collect(text, found);
  return found;
}

void JournalNews::collect(std::string_view text, std::vector<Entry>& found) const {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!wanted_(line)) continue;
    std::optional<Entry> entry = parse_line(line);
    if (entry) found.push_back(std::move(*entry));
  }
}

}  // namespace nodepool::history
