#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace nodepool::program {

// The PID file of a daemon in the background: one line with the process id. The destructor removes
// it.
class PidFile {
 public:
  // Creates the file if it is missing, and locks it. While another daemon has it, waits up to
  // `patience` for its end, and calls `on_waiting` once with the reason. A stale file is accepted,
  // also if another program has the process id by now. Throws std::runtime_error if the daemon does
  // not end or the file cannot be written, except if the disk is full: that is problem(). The lock
  // outlasts detach(). Call this before, so that the user sees the wait and the error.
  PidFile(std::string path, std::chrono::milliseconds patience,
          const std::function<void(const std::string&)>& on_waiting);
  ~PidFile();
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;

  // Writes the id of this process; mode 0644. Throws like the constructor.
  void write();

  // Why the file was not written; empty if it was.
  const std::string& problem() const { return problem_; }

 private:
  void acquire();
  void handle_error();

  std::string path_;
  int file_ = -1;
  std::string problem_;
};

// Reports the result of a daemon's start to the process that the user started, which waits for it.
// Only the first report counts. A default-constructed one reports to no process.
class StartReport {
 public:
  StartReport() = default;
  // Without a report, the waiting process prints that the daemon has exited, and exits with 1.
  ~StartReport();
  StartReport(StartReport&& other) noexcept;
  StartReport& operator=(StartReport&& other) noexcept;

  // The waiting process exits with 0.
  void serving();
  // It prints what the daemon waits for, and exits with 0. The daemon continues.
  void waiting(const std::string& what);
  // It prints the error, and exits with 1.
  void failed(const std::string& error);

 private:
  friend StartReport detach(const std::string& name, std::chrono::milliseconds timeout);
  explicit StartReport(int pipe) : pipe_(pipe) {}
  void send(char status, const std::string& text);

  int pipe_ = -1;
};

// Closes all descriptors but the standard streams: the caller's locks and pipes would stay in use
// until the daemon ends. Opens those standard streams that the caller has closed, on /dev/null, so
// that no other file gets their numbers. Call this before the process opens anything.
void close_descriptors_of_caller();

// Goes to the background: a new session, working directory "/", standard streams on /dev/null,
// umask 0027. Returns in a grandchild of the calling process. The calling process waits for the
// report and exits; after the timeout it prints that, and exits with 0. Its output begins with
// `name`. Call this before any thread or event loop exists. Throws std::system_error.
StartReport detach(const std::string& name, std::chrono::milliseconds timeout);

}  // namespace nodepool::program
