#pragma once

#include <string>
#include <string_view>

#include "planning/decision.h"

// Decisions for people and programs: in records, the history, explanations and logs.
namespace nodepool::planning {

// For people: "a node becomes free or is deleted".
std::string_view to_string(Decision::Until until);

// For people: "accepts", "waits: the pool is full: … (until a node …)".
std::string sentence(const Decision& decision, Words words = Words::of_records);

// For programs, a JSON object: {"pool": …, "decision": "waits", "reason": "pool-full", "subject":
// …, "figures": …}, without empty members. Its names are stable.
std::string to_json(const Decision& decision, std::string_view pool_id);

}  // namespace nodepool::planning
