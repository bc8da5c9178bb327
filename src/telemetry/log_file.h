#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>

namespace nodepool::telemetry {

// When to rotate a log file, like Python's RotatingFileHandler and TimedRotatingFileHandler. By
// default never.
struct LogRotation {
  enum class Period {
    none,
    fixed,     // every `seconds`
    midnight,  // each day
    weekday,   // each week, at the end of `weekday`
  };

  // Bytes. A file that would become larger is renamed to FILE.1, that one to FILE.2, …; 0: no
  // limit.
  std::uint64_t max_size = 0;
  Period period = Period::none;  // renamed afterwards to FILE.<start of the period>
  std::int64_t seconds = 0;
  int weekday = 0;          // 0: Monday
  bool utc = false;         // otherwise local time
  std::string suffix = {};  // the format of the time, for strftime()
  int backups = 0;          // kept; 0: all, without rotation by size
};

// The end of the period that contains `now`: the time of the next rotation.
std::time_t end_of_period(const LogRotation& rotation, std::time_t now);

// Appends to a log file. If another program renames or removes the file, creates a new one.
class LogFile {
 public:
  // Creates the file and its directory. If it cannot, write() retries, at most once a second.
  LogFile(std::string path, LogRotation rotation, std::time_t now);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Why the constructor could not open the file; empty: it did, or the file system was full.
  const std::string& opening_failure() const { return opening_failure_; }

  // Appends complete lines. A failed rotation leaves the file unchanged and is retried when the
  // next one is due. Throws std::system_error: the text, or its rest, is dropped then, and the next
  // text starts on a new line.
  void write(std::string_view text, std::time_t now);

 private:
  // Detects that another file has replaced it.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };

  void open(std::time_t now);
  void open_at_once();
  void append(std::string_view text);
  Identity identity_now() const;
  bool is_due(std::size_t more, std::time_t now) const;
  void rotate(std::time_t now);
  void shift_numbers() const;
  void name_by_time() const;
  void remove_surplus() const;

  std::string path_;
  LogRotation rotation_;
  std::string opening_failure_;
  std::exception_ptr open_error_;  // of the last attempt; null: it succeeded
  std::time_t attempted_ = 0;      // time of the last attempt
  int descriptor_ = -1;            // not open yet
  Identity identity_;
  bool is_torn_ = false;       // the file ends in the middle of a line
  std::uint64_t size_ = 0;     // bytes since the last rotation
  std::time_t began_ = 0;      // start of the period
  std::time_t next_time_ = 0;  // of the next rotation by time
};

}  // namespace nodepool::telemetry
