#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/problem.h"

namespace nodepool::config::zuul {

// What a conversion leaves out, each with what to do instead.
class Omissions {
 public:
  // The same message about the same key elsewhere is counted, not repeated.
  void add(const Problem& omission);

  // By file and line. The message ends with the number of further places, if any.
  std::vector<Problem> problems() const;

 private:
  struct Entry {
    Problem first = {};
    int further = 0;
  };
  std::map<std::pair<std::string, std::string>, Entry> entries_;  // by key and message
};

}  // namespace nodepool::config::zuul
