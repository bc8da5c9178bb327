// Lines of the history's files.

#include "history/entry.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void read(std::string_view input) {
  const auto entry = history::parse_line(input);
  if (!entry) return;
  const auto again = history::parse_line(history::to_line(*entry));
  require(again && *again == *entry, "an entry that was written can be read");
}

}  // namespace nodepool::fuzz
