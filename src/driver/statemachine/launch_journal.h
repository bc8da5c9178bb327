#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/record.h"

namespace nodepool::driver {

// The progress of a launch, in the node's field `launch_journal`. Another launcher resumes the
// launch from it after a crash.
//
//   {"attempt": 1, "undo": false, "steps": {"server": {"begun": 1700000000.5, "result": "3f2a…"}}}
//
// and, during a deletion with steps, `removal` like `steps`.
struct LaunchJournal {
  struct Step {
    double begun = 0;                   // written before the call, seconds since the epoch
    std::optional<std::string> result;  // nothing: the outcome is unknown

    friend bool operator==(const Step&, const Step&) = default;
  };

  std::int64_t attempt = 1;
  bool undo = false;                         // the last attempt must be rolled back first
  std::map<std::string, Step> steps;         // of this attempt; with `undo`, of the last one
  std::map<std::string, Step> removal = {};  // of the deletion in progress

  // Whether the outcome of one of `steps` is unknown.
  bool is_uncertain() const;

  // Reads the field; null is an empty journal. Throws model::RecordError.
  static LaunchJournal parse(const model::Json& json);
  // The value of the field.
  model::Json to_json() const;

  friend bool operator==(const LaunchJournal&, const LaunchJournal&) = default;
};

}  // namespace nodepool::driver
