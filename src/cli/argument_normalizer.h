#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/declaration.h"

namespace nodepool::cli {

// The command line is invalid. The text says why.
class UsageError : public std::runtime_error {
 public:
  // `command`: the command whose usage is to be shown; empty: the program's.
  UsageError(std::string command, const std::string& reason)
      : std::runtime_error(reason), command_(std::move(command)) {}

  const std::string& command() const { return command_; }

 private:
  std::string command_;
};

// A command line without abbreviations.
struct NormalizedArguments {
  std::vector<std::string> words;
  std::vector<std::string> rest;  // of `-- COMMAND…`, if the command takes one
};

// Completes abbreviated long options, turns `help COMMAND` into `COMMAND --help`, and separates the
// command to run after `--`. Values are not checked. Throws UsageError for unknown commands, and
// for unknown or ambiguous options.
NormalizedArguments normalize_arguments(const std::vector<std::string>& given);

}  // namespace nodepool::cli
