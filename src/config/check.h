#pragma once

#include <set>
#include <string>
#include <vector>

#include "config/problem.h"
#include "config/schema.h"
#include "config/value.h"

namespace nodepool::config {

// What the top level of a file defines, for Type::Refers.
struct DefinedNames {
  std::set<std::string, std::less<>> labels;
  std::set<std::string, std::less<>> diskimages;           // that can be used in a provider
  std::set<std::string, std::less<>> abstract_diskimages;  // that cannot
};

struct CheckOptions {
  std::string file = {};                  // for the problems
  std::string path = {};                  // where the value stands; empty for the top level
  const DefinedNames* defined = nullptr;  // without it, references are not checked
  // Gets the names of the labels that the value refers to, if there is one and `defined`.
  std::set<std::string, std::less<>>* named_labels = nullptr;
};

// The strict check: everything in which `value` differs from `schema`. Empty if nothing does.
std::vector<Problem> check(const Value& value, const Schema& schema, const CheckOptions& options);

// What a daemon warns of while it carries on: unknown keys, keys that are deprecated, and values of
// a type that is probably not what was meant.
std::vector<Problem> check_leniently(const Value& value, const Schema& schema,
                                     const CheckOptions& options);

// Sorts by file and line.
void sort_by_place(std::vector<Problem>& problems);

}  // namespace nodepool::config
