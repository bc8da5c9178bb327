#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/entry.h"

namespace nodepool::history {

// Where the history of requests and nodes is kept: two files with a line for each entry, the one
// that is being written and the one before it. Several processes may write to it and read it.
struct Journal {
  std::string directory;
  std::int64_t max_size = 16 << 20;  // bytes, of each of the two files
  // Seconds: what is older is not told, and not kept much longer; 0: only its size bounds it.
  double max_age = 0;
  // Gets the lines instead of the files: for tests. Throws std::system_error.
  std::function<void(std::string_view lines)> consume = {};

  std::string current() const { return directory + "/history.jsonl"; }
  std::string previous() const { return directory + "/history.jsonl.1"; }
};

// Adds whole lines (to_line()), and begins a new file before the present one would become too
// large, or when its first entry is too old: then all that goes with the file before it is older
// still. So an entry leaves the disk, if anything is added then, at twice that age at most. Makes
// the directory and the file if they are not there. What was added last may be lost with the
// machine: nothing waits for the disk. Blocks. Throws std::system_error.
void append(const Journal& journal, std::string_view lines);

// All that the journal has of one request or node, oldest first; an entry that only says again what
// the one before says is left out, and what is too old `now` (seconds since the epoch; nothing: no
// matter how old). Blocks. Throws std::system_error; a journal that is not there is
// an empty one.
std::vector<Entry> entries_of(const Journal& journal, std::string_view id,
                              std::optional<double> now = {});

// The time of the last entry; nothing if there is none. Blocks. Throws std::system_error.
std::optional<double> last_time(const Journal& journal);

}  // namespace nodepool::history
