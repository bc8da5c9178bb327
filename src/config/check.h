#pragma once

#include <set>
#include <string>
#include <vector>

#include "config/problem.h"
#include "config/schema.h"
#include "config/value.h"

namespace nodepool::config {

// The names that the top level of a file defines, for Type::Refers.
struct DefinedNames {
  std::set<std::string, std::less<>> labels;
  std::set<std::string, std::less<>> diskimages;           // usable in a provider
  std::set<std::string, std::less<>> abstract_diskimages;  // not usable
};

struct CheckOptions {
  std::string file = {};                  // for messages
  std::string path = {};                  // of the value; empty for the top level
  const DefinedNames* defined = nullptr;  // null: references are not checked
  // Output: the names of the labels that the value refers to. Needs `defined`. May be null.
  std::set<std::string, std::less<>>* named_labels = nullptr;
};

// The strict check: all differences of `value` from `schema`.
std::vector<Problem> check(const Value& value, const Schema& schema, const CheckOptions& options);

// The warnings of a daemon, which starts nevertheless: unknown keys, deprecated keys, and values of
// a type that is probably a mistake.
std::vector<Problem> check_leniently(const Value& value, const Schema& schema,
                                     const CheckOptions& options);

// Sorts by file and line.
void sort_by_position(std::vector<Problem>& problems);

}  // namespace nodepool::config
