#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nodepool::simulation {

// What came of one run.
struct Report {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;          // empty: all promises were kept
  std::vector<std::string> log;                 // if it was asked for
  std::uint64_t log_hash = 0;                   // of the log, asked for or not
  std::map<std::string, std::uint64_t> counts;  // faults, transitions, answers
  std::uint64_t events = 0;                     // lines of the log
  double virtual_hours = 0;
};

// Runs an installation of some launchers and requestors in virtual time for a while, with
// everything that can go wrong, then lets it come to rest. All of it follows from the seed.
Report simulate(std::uint64_t seed, bool keep_log = false);

}  // namespace nodepool::simulation
