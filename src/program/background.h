#pragma once

#include <chrono>
#include <string>

namespace nodepool::program {

// The pid file of a daemon in the background: one line, the process id; removed at the end.
class PidFile {
 public:
  // Fails if the file names a daemon that is alive; one left by a daemon that is not is replaced,
  // also when another program has its number by now.
  // Call it before going to the background, so that the user sees the error. Throws
  // std::runtime_error.
  static void require_free(const std::string& path);

  // Writes the file, mode 0644. Throws std::runtime_error, but for want of room on the disk: that
  // is a problem().
  explicit PidFile(std::string path);
  ~PidFile();
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;

  // Why the file has not been written; empty: it has.
  const std::string& problem() const { return problem_; }

 private:
  std::string path_;
  std::string problem_;
};

// What becomes of a daemon's start, for the process that the user has started and that waits for
// it. Only the first report counts. One made by default has nobody who waits.
class StartReport {
 public:
  StartReport() = default;
  // Without a report that process says that the daemon has ended, and exits with 1.
  ~StartReport();
  StartReport(StartReport&& other) noexcept;
  StartReport& operator=(StartReport&& other) noexcept;

  // That process exits with 0.
  void serving();
  // It prints what the daemon waits for, and exits with 0: the daemon goes on.
  void waiting(const std::string& what);
  // It prints why, and exits with 1.
  void failed(const std::string& why);

 private:
  friend StartReport detach(const std::string& name, std::chrono::milliseconds patience);
  explicit StartReport(int pipe) : pipe_(pipe) {}
  void send(char status, const std::string& text);

  int pipe_ = -1;
};

// Goes to the background: a new session, working directory "/", standard streams on /dev/null,
// umask 0027. What returns is a grandchild of the calling process, which waits for the report and
// exits; if none comes in time it says so and exits with 0. What it prints begins with `name`. Call
// it before any thread or event loop exists. Throws std::system_error.
StartReport detach(const std::string& name, std::chrono::milliseconds patience);

}  // namespace nodepool::program
