#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace nodepool::telemetry {

// When a log file makes room for the next one, as Python's RotatingFileHandler and
// TimedRotatingFileHandler do. By default never.
struct LogRotation {
  enum class Period {
    none,
    fixed,     // every `seconds`
    midnight,  // each day
    weekday,   // each week, at the end of `weekday`
  };

  // Bytes. A file that would be larger becomes FILE.1, that one FILE.2, …; 0: it never does.
  std::uint64_t max_size = 0;
  Period period = Period::none;  // after which the file becomes FILE.<when the period began>
  std::int64_t seconds = 0;
  int weekday = 0;          // 0: Monday
  bool utc = false;         // otherwise local time
  std::string suffix = {};  // of the time, as strftime() takes it
  int backups = 0;          // kept; 0: all, and by size there is no rotation
};

// When the period that `now` is in ends: the moment of the next rotation.
std::time_t end_of_period(const LogRotation& rotation, std::time_t now);

// A log file that is appended to. If another program renames or removes it, a new one is begun.
class LogFile {
 public:
  // Makes the file and its directory. A file system that has no room for it is no error: write()
  // tries again. Throws std::system_error.
  LogFile(std::string path, LogRotation rotation, std::time_t now);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Appends whole lines. A rotation that fails leaves the file as it is, and is tried again when
  // the next one is due. Throws std::system_error: then the text is lost, but for its beginning,
  // perhaps; what is written next begins with a line of its own.
  void write(std::string_view text, std::time_t now);

 private:
  // Tells whether another file has taken its place.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };

  void open();
  void append(std::string_view text);
  Identity identity_now() const;
  bool is_due(std::size_t more, std::time_t now) const;
  void rotate(std::time_t now);
  void shift_numbers() const;
  void name_by_time() const;
  void remove_surplus() const;

  std::string path_;
  LogRotation rotation_;
  int descriptor_ = -1;  // until there is room
  Identity identity_;
  bool is_torn_ = false;       // the file ends in the middle of a line
  std::uint64_t size_ = 0;     // bytes since the last rotation
  std::time_t began_ = 0;      // the period
  std::time_t next_time_ = 0;  // of a rotation by time
};

}  // namespace nodepool::telemetry
