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

// Options for starting a program.
struct ChildOptions {
  std::map<std::string, std::string> environment{};  // added to the current one
  std::filesystem::path working_directory{};         // empty: the current one
};

// A child process of the test. It is killed when this object is destroyed, and when the thread that
// started it ends, so that nothing is left running after a crash.
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

  // Whether it has not ended.
  bool running();

  // Sends a signal, e.g. SIGTERM. Does nothing if it has ended.
  void signal(int number);

  // Waits for its end and returns its exit status; 128 + N if signal N ended it.
  int wait();

  // Like wait(), but returns nothing if it still runs after `patience`.
  std::optional<int> wait_for(std::chrono::milliseconds patience);

  // Its output so far.
  std::string standard_output() const;
  std::string standard_error() const;

  // Waits up to `patience` for `text` in its standard error and returns whether it appears. Returns
  // false at once if the program ends without it.
  bool error_output_shows(const std::string& text, std::chrono::milliseconds patience);

 private:
  pid_t pid_ = -1;
  Descriptor handle_;
  Descriptor output_;
  Descriptor error_;
  std::optional<int> status_;
};

// The result of a program that has ended.
struct Completed {
  int status;  // like Child::wait()
  std::string output;
  std::string error;
};

// Runs `command` and waits for its end. Throws std::system_error if it cannot be run.
Completed run(const std::vector<std::string>& command, const ChildOptions& options = {});

}  // namespace nodepool::test_support
