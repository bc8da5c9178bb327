#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/entry.h"

namespace nodepool::history {

// Two files of lines of JSON, the current one and the previous one, by default the history of
// requests and nodes. Several processes may write and read them.
struct Journal {
  std::string directory;
  std::string name = "history";
  std::int64_t max_size = 16 << 20;  // bytes, of each of the two files
  // In seconds. Older entries are not returned, and are deleted later; 0: unlimited.
  double max_age = 0;
  // For tests: gets the lines instead of the files. Throws std::system_error.
  std::function<void(std::string_view lines)> consume = {};

  std::string current() const { return directory + "/" + name + ".jsonl"; }
  std::string previous() const { return directory + "/" + name + ".jsonl.1"; }
};

// Appends whole lines. Rotates the files if the current one would exceed max_size, or
// if its first entry is older than max_age. So with regular appends an entry is deleted after twice
// max_age at most. Creates the directory and the file if missing. Does not sync: a crash of the
// machine may lose the last lines. Blocks. Throws std::system_error.
void append(const Journal& journal, std::string_view lines);

// Calls `use` with each line, oldest first, without its newline. A missing file counts as empty.
// Blocks. Throws std::system_error.
void read_lines(const Journal& journal, const std::function<void(std::string_view line)>& use);

// What a journal has of one request or node.
struct SubjectHistory {
  std::vector<JournalEntry> entries;  // oldest first, without repetitions
  // Of a request: the nodes with a failed launch for it, in the order of their first failures.
  std::vector<std::string> failed_nodes = {};
};

// The history of one request or node, without entries older than max_age at `now` (seconds since
// the epoch; nothing: entries of any age). A missing journal counts as empty. Blocks. Throws
// std::system_error.
SubjectHistory history_of(const Journal& journal, std::string_view id,
                          std::optional<double> now = {});

// Its entries alone.
std::vector<JournalEntry> entries_of(const Journal& journal, std::string_view id,
                                     std::optional<double> now = {});

// The time of the last entry. Returns nothing if there is none. Blocks. Throws std::system_error.
std::optional<double> last_time(const Journal& journal);

}  // namespace nodepool::history
