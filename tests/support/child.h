#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/descriptor.h"

namespace nodepool::test_support {

// How a program is started.
struct ChildOptions {
  std::map<std::string, std::string> environment{};  // on top of the present one
  std::filesystem::path working_directory{};         // empty: the present one
};

// A program that runs beside the test. It is killed when this object goes away, and also when the
// thread that made it ends: nothing is left running after a crash.
class Child {
 public:
  // Starts `command`: the program, looked up in PATH, and its arguments. Throws std::system_error
  // if it cannot be run.
  explicit Child(const std::vector<std::string>& command, const ChildOptions& options = {});
  // Kills the program and waits for its end.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  // Whether it has not ended yet.
  bool running();

  // Sends it a signal, e.g. SIGTERM. Harmless when it has ended.
  void signal(int number);

  // Waits for its end and returns its exit status; 128 + N if signal N ended it.
  int wait();

  // As wait(), but returns nothing if it still runs after `patience`.
  std::optional<int> wait_for(std::chrono::milliseconds patience);

  // What it has written so far.
  std::string standard_output() const;
  std::string standard_error() const;

  // Whether `text` appears in what it writes to standard error, within `patience`. False at once if
  // it ends without.
  bool error_output_shows(const std::string& text, std::chrono::milliseconds patience);

 private:
  pid_t pid_ = -1;
  Descriptor handle_;
  Descriptor output_;
  Descriptor error_;
  std::optional<int> status_;
};

// What a program that ran to its end left.
struct Completed {
  int status;  // as Child::wait()
  std::string output;
  std::string error;
};

// Runs `command` and waits for its end. Throws std::system_error if it cannot be run.
Completed run(const std::vector<std::string>& command, const ChildOptions& options = {});

}  // namespace nodepool::test_support
