#pragma once

#include <chrono>
#include <string>

namespace nodepool::program {

// The PID file of a daemon in the background: one line with the process id. The destructor removes
// it.
class PidFile {
 public:
  // Throws std::runtime_error if the file names a running daemon. A stale file is accepted, also if
  // another program has the process id by now. Call it before detach(), so that the user sees the
  // error.
  static void require_free(const std::string& path);

  // Writes the file, mode 0644, and keeps it locked. Throws std::runtime_error, also if another
  // daemon has just written it, except if the disk is full: that is reported by problem().
  explicit PidFile(std::string path);
  ~PidFile();
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;

  // Why the file was not written; empty if it was.
  const std::string& problem() const { return problem_; }

 private:
  void lock() const;

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

// Goes to the background: a new session, working directory "/", standard streams on /dev/null,
// umask 0027. Returns in a grandchild of the calling process. The calling process waits for the
// report and exits; after the timeout it prints that, and exits with 0. Its output begins with
// `name`. Call this before any thread or event loop exists. Throws std::system_error.
StartReport detach(const std::string& name, std::chrono::milliseconds timeout);

}  // namespace nodepool::program
