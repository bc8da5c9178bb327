#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "history/entry.h"
#include "history/journal.h"

namespace nodepool::history {

// Reads new entries of a journal that several processes write. The cost of a poll depends on the
// new entries only, and is bounded: the first poll, and a poll of very many entries, sees only the
// last ones.
class JournalNews {
 public:
  // Returns entries of these events only.
  JournalNews(Journal journal, std::vector<std::string> events);

  // The entries since the last poll, oldest first. A missing journal counts as empty.
  // Blocks. Throws std::system_error.
  std::vector<JournalEntry> poll();

 private:
  void collect(std::string_view text, std::vector<JournalEntry>& found) const;

  Journal journal_;
  std::vector<std::string> events_;
  std::int64_t seen_ = 0;  // bytes of the current file
};

}  // namespace nodepool::history
