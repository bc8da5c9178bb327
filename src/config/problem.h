#pragma once

#include <compare>
#include <stdexcept>
#include <string>

namespace nodepool::config {

// A position in a file. Lines and columns count from 1; 0 means unknown.
struct Mark {
  int line = 0;
  int column = 0;

  friend auto operator<=>(const Mark&, const Mark&) = default;
};

// A problem in a configuration file. The strict check collects these, the daemons log them as
// warnings. Never contains a configured value that could be a secret.
struct Problem {
  std::string file = {};     // as the caller named it; empty if there is none
  Mark mark = {};            // unknown for the whole file
  std::string path = {};     // e.g. "labels[0].min-ready"; empty for the top level
  std::string message = {};  // what is wrong
  std::string hint = {};     // how to solve it, e.g. "did you mean `labels`?"; may be empty

  friend bool operator==(const Problem&, const Problem&) = default;
};

// One line: "file:line:column: path: message (hint)", without the parts that are unknown.
std::string to_string(const Problem& problem);

// A configuration that cannot be used. what() is to_string(problem()).
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(Problem problem)
      : std::runtime_error(to_string(problem)), problem_(std::move(problem)) {}

  const Problem& problem() const { return problem_; }

 private:
  Problem problem_;
};

}  // namespace nodepool::config
