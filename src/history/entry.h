#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/facts.h"

namespace nodepool::history {

// One event of a request or a node.
struct JournalEntry {
  enum class Subject { request, node };

  double time = 0;  // seconds since the epoch
  Subject subject = Subject::request;
  std::string id;
  std::string event;  // a state, or "locked", "gone", "decision", …
  // The nodes of a request, or the request of a node.
  std::vector<std::string> related;
  std::string details;  // for people
  Facts facts = {};     // for programs

  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

// One line of JSON with its newline:
//   {"time":1763712345.1,"node":"0000000003","event":"allocated","related":["200-0000000001"]}
std::string to_line(const JournalEntry& entry);

// Parses a line, with or without its newline. Returns nothing if it is invalid, for example torn by
// a crash.
std::optional<JournalEntry> parse_line(std::string_view line);

// Whether a line may report the event. False positives are possible. Much cheaper than parsing.
bool may_report(std::string_view line, std::string_view event);

}  // namespace nodepool::history
