#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/declaration.h"

namespace nodepool::cli {

// The command line cannot be understood. The text says why.
class UsageError : public std::runtime_error {
 public:
  // `command`: whose usage it is about; empty: that of all.
  UsageError(std::string command, const std::string& reason)
      : std::runtime_error(reason), command_(std::move(command)) {}

  const std::string& command() const { return command_; }

 private:
  std::string command_;
};

// A command line in which everything has its full name.
struct NormalizedArguments {
  std::vector<std::string> words;
  std::vector<std::string> rest;  // of `-- COMMAND…`, where the command has such
};

// Completes long options that are abbreviated, as far as they are unambiguous, makes
// `COMMAND --help` of `help COMMAND`, and takes off what follows `--` where that is a command to
// run. Values are not looked at. Throws UsageError for commands and options that do not exist, with
// what may have been meant.
NormalizedArguments normalize_arguments(const std::vector<std::string>& given);

}  // namespace nodepool::cli
