#include "config/problem.h"

namespace nodepool::config {

std::string to_string(const Problem& problem) {
  std::string line;
  if (!problem.file.empty()) {
    line += problem.file;
    if (problem.mark.line > 0) {
      line += ':' + std::to_string(problem.mark.line) + ':' + std::to_string(problem.mark.column);
    }
    line += ": ";
  }
  if (!problem.path.empty()) line += problem.path + ": ";
  line += problem.message;
  if (!problem.hint.empty()) line += " (" + problem.hint + ")";
  return line;
}

}  // namespace nodepool::config
