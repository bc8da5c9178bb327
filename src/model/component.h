#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/store.h"
#include "model/record.h"

namespace nodepool::model {

// The record of a running component: /nodepool/components/<kind>/<hostname><sequence>, ephemeral.
struct Component {
  enum class Kind { launcher, builder, pool };

  Kind kind = Kind::launcher;
  std::string hostname;
  std::string state = "stopped";  // initializing, running, paused, stopped
  std::string version;
  std::int64_t model_api = 0;

  // Of a pool only.
  std::string id;  // "<fqdn>-PoolWorker.<provider>-<pool>-<32 hex digits>": in declined_by
  std::string name;
  std::string provider_name;
  std::vector<std::string> supported_labels;
  std::int64_t priority = 100;  // lower is preferred
  bool paused = false;          // at capacity, accepts nothing new

  // Of a launcher or builder only. Not written by the Python Nodepool.
  double started = 0;               // start of the process, seconds since the epoch; 0: unknown
  double configuration_loaded = 0;  // the one in effect, seconds since the epoch; 0: unknown
  std::string configuration_problem = {};  // why a newer one was rejected; empty: none was
  std::vector<std::string> problems = {};  // other problems, as texts

  bool supports(std::string_view label) const;

  // Whether it supports all labels.
  bool supports(const std::vector<std::string>& labels) const;

  friend bool operator==(const Component&, const Component&) = default;
};

std::string_view to_string(Component::Kind kind);

enum class Implementation { unknown, python_nodepool, this_nodepool };

// Which implementation wrote the record, by its version: those of the Python Nodepool are below 12.
Implementation implementation_of(const Component& component);

// Parses a component's record. Throws RecordError.
Component parse_component(Component::Kind kind, const coordination::Entry& entry);

// The record's text, with sorted keys.
std::string to_record(const Component& component);

// A pool for people, by its record or its id: "rack-main on vm". An id of another form is returned
// as it is.
std::string pool_title(const Component& pool);
std::string pool_title(std::string_view id);

// The start of the problem of a launcher that drops entries of its history.
inline constexpr std::string_view kHistoryProblem = "the history cannot be written: ";

// The problem of a launcher whose pool cannot serve a label, for people. Ends with `problem`.
std::string label_problem_text(std::string_view provider, std::string_view pool,
                               std::string_view label, std::string_view problem);

// The problem of a component with this `configuration_problem`, for people.
std::string rejection_text(const std::string& configuration_problem);

}  // namespace nodepool::model
