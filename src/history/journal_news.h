#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "history/entry.h"
#include "history/journal.h"

namespace nodepool::history {

// Reads what is added to a journal, by whichever process. A look costs what has been added since
// the one before, and is bounded: of the first look, or of very much, it sees the end only.
class JournalNews {
 public:
  // `wanted` looks at whole lines, and is to be cheap: only what it likes is parsed.
  JournalNews(Journal journal, std::function<bool(std::string_view line)> wanted);

  // What has come since the last look, oldest first. Blocks. Throws std::system_error; a journal
  // that is not there is an empty one.
  std::vector<Entry> look();

 private:
  void collect(std::string_view text, std::vector<Entry>& found) const;

  Journal journal_;
  std::function<bool(std::string_view)> wanted_;
  std::int64_t seen_ = 0;  // bytes of the file that is being written
};

}  // namespace nodepool::history
