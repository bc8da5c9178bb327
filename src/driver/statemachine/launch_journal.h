#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/record.h"

namespace nodepool::driver {

// How far the launch of a node has come: the node's `launch_journal`. It lets another launcher go
// on where one has died.
//
//   {"attempt": 1, "undo": false, "steps": {"server": {"begun": 1700000000.5, "result": "3f2a…"}}}
//
// and, while something is deleted in steps, `removal` like `steps`.
struct LaunchJournal {
  struct Step {
    double begun = 0;                   // when it was about to be done, seconds since the epoch
    std::optional<std::string> result;  // nothing: nobody knows whether it was done

    friend bool operator==(const Step&, const Step&) = default;
  };

  std::int64_t attempt = 1;
  bool undo = false;                         // what the last attempt made is still to be deleted
  std::map<std::string, Step> steps;         // of this attempt; with `undo`, of the last one
  std::map<std::string, Step> removal = {};  // of the deletion that is under way

  // Whether a step of making was begun whose outcome is not known.
  bool is_uncertain() const;

  // A null is an empty journal. Throws model::RecordError.
  static LaunchJournal parse(const model::Json& json);
  model::Json to_json() const;

  friend bool operator==(const LaunchJournal&, const LaunchJournal&) = default;
};

}  // namespace nodepool::driver
