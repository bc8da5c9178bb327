#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "async/clock.h"

namespace nodepool::simulation {

// What happened in one run: the event log and its hash, counts, and what was found wrong.
class Journal {
 public:
  // Without `keep`, lines are only hashed.
  Journal(const async::VirtualClock& clock, bool keep) : clock_(clock), keep_(keep) {}

  // An event, in the name of `actor`.
  void note(std::string_view actor, std::string_view text);

  // An event that is of interest only to who reads the log: it does not count for the hash.
  void detail(std::string_view actor, std::string_view text);

  // Whether lines are kept.
  bool keeps() const { return keep_; }

  // Something that must never happen.
  void violation(std::string_view text);

  void count(const std::string& what, std::uint64_t number = 1) { counts_[what] += number; }

  std::uint64_t hash() const { return hash_; }
  std::uint64_t events() const { return events_; }
  const std::vector<std::string>& lines() const { return lines_; }
  const std::vector<std::string>& violations() const { return violations_; }
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }

 private:
  std::string line(std::string_view actor, std::string_view text) const;

  const async::VirtualClock& clock_;
  bool keep_;
  std::uint64_t hash_ = 14695981039346656037U;  // FNV-1a
  std::uint64_t events_ = 0;
  std::vector<std::string> lines_;
  std::vector<std::string> violations_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace nodepool::simulation
