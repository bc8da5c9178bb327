#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/entry.h"

namespace nodepool::history {

// The history of requests and nodes: two files with a line for each entry, the current one and the
// previous one. Several processes may write and read it.
struct Journal {
  std::string directory;
  std::int64_t max_size = 16 << 20;  // bytes, of each of the two files
  // In seconds. Older entries are not returned, and are deleted later; 0: unlimited.
  double max_age = 0;
  // For tests: gets the lines instead of the files. Throws std::system_error.
  std::function<void(std::string_view lines)> consume = {};

  std::string current() const { return directory + "/history.jsonl"; }
  std::string previous() const { return directory + "/history.jsonl.1"; }
};

// Appends whole lines (to_line()). Rotates the files if the current one would exceed max_size, or
// if its first entry is older than max_age. So with regular appends an entry is deleted after twice
// max_age at most. Creates the directory and the file if missing. Does not sync: a crash of the
// machine may lose the last lines. Blocks. Throws std::system_error.
void append(const Journal& journal, std::string_view lines);

// The entries about one request or node, oldest first, without repetitions, and without entries
// older than max_age at `now` (seconds since the epoch; nothing: entries of any age). A missing
// journal counts as empty. Blocks. Throws std::system_error.
std::vector<JournalEntry> entries_of(const Journal& journal, std::string_view id,
                                     std::optional<double> now = {});

// The time of the last entry. Returns nothing if there is none. Blocks. Throws std::system_error.
std::optional<double> last_time(const Journal& journal);

}  // namespace nodepool::history
