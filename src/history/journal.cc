#include "history/journal.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "history/locked_file.h"

namespace nodepool::history {

namespace {

using Access = LockedFile::Access;

// More than the longest line.
constexpr std::int64_t kTail = 256 << 10;

bool is_repetition(const JournalEntry& a, const JournalEntry& b) {
  return a.event == b.event && a.related == b.related && a.details == b.details;
}

bool is_failed_launch_for(const JournalEntry& entry, std::string_view request) {
  const auto* attempt = std::get_if<Attempted>(&entry.facts);
  return attempt != nullptr && !attempt->failure.empty() &&
         std::ranges::find(entry.related, request) != entry.related.end();
}

// A newline if the last line was torn by a crash or a full disk.
std::string_view separator(const LockedFile& file) {
  const std::string last = file.tail(1);
  return last.empty() || last == "\n" ? "" : "\n";
}

// The time of the first line of `text` that is not torn. Returns nothing if there is none.
std::optional<double> first_time(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const auto entry = parse_line(text.substr(0, end))) return entry->time;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

bool is_too_old(const Journal& journal, const LockedFile& file, std::string_view lines) {
  if (journal.max_age <= 0) return false;
  const std::optional<double> first = first_time(file.head(kTail));
  const std::optional<double> next = first_time(lines);
  return first && next && *first < *next - journal.max_age;
}

}  // namespace

void append(const Journal& journal, std::string_view lines) {
  if (journal.consume) return journal.consume(lines);
  if (!std::filesystem::exists(journal.directory)) {
    std::filesystem::create_directories(journal.directory);
  }
  std::optional<LockedFile> file = LockedFile::open(journal.current(), Access::append);
  const std::int64_t size = file->size();
  const bool is_full = size + static_cast<std::int64_t>(lines.size()) > journal.max_size;
  if (size > 0 && (is_full || is_too_old(journal, *file, lines))) {
    std::filesystem::rename(journal.current(), journal.previous());
    file.reset();
    file.emplace(std::move(*LockedFile::open(journal.current(), Access::append)));
  }
  file->append(std::string(separator(*file)).append(lines));
}

void read_lines(const Journal& journal, const std::function<void(std::string_view)>& use) {
  std::ifstream current;
  std::ifstream previous;
  {
    // The lock prevents a rotation in between.
    const auto lock = LockedFile::open(journal.current(), Access::read);
    current.open(journal.current());
    previous.open(journal.previous());
  }
  for (std::ifstream* file : {&previous, &current}) {
    for (std::string line; std::getline(*file, line);) use(line);
  }
}

SubjectHistory history_of(const Journal& journal, std::string_view id, std::optional<double> now) {
  const double oldest = journal.max_age > 0 && now ? *now - journal.max_age : 0;
  SubjectHistory found;
  read_lines(journal, [&](std::string_view line) {
    if (!line.contains(id)) return;  // much cheaper than parsing
    std::optional<JournalEntry> entry = parse_line(line);
    if (!entry || entry->time < oldest) return;
    if (entry->id == id) {
      found.entries.push_back(std::move(*entry));
    } else if (is_failed_launch_for(*entry, id) &&
               std::ranges::find(found.failed_nodes, entry->id) == found.failed_nodes.end()) {
      found.failed_nodes.push_back(std::move(entry->id));
    }
  });
  const auto repeated = std::ranges::unique(found.entries, is_repetition);
  found.entries.erase(repeated.begin(), repeated.end());
  return found;
}

std::vector<JournalEntry> entries_of(const Journal& journal, std::string_view id,
                                     std::optional<double> now) {
  return history_of(journal, id, now).entries;
}

std::optional<double> last_time(const Journal& journal) {
  for (const std::string& path : {journal.current(), journal.previous()}) {
    const auto file = LockedFile::open(path, Access::read);
    if (!file) continue;
    const std::string text = file->tail(kTail);
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t newline = rest.rfind('\n');
      const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
      if (const auto entry = parse_line(rest.substr(begin))) return entry->time;
      rest = rest.substr(0, begin == 0 ? 0 : newline);
    }
  }
  return std::nullopt;
}

}  // namespace nodepool::history
