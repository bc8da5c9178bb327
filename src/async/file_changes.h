#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "async/file_stamp.h"
#include "async/file_watch.h"
#include "async/runtime.h"

namespace nodepool::async {

// Reports changes of files: at once if the kernel reports them (FileWatch). It also compares stamps
// every kPoll, for network file systems, unreadable directories, and when the kernel refuses
// another watch.
class FileChanges {
 public:
  static constexpr Duration kPoll = std::chrono::seconds(10);

  // Changes count from now on: create it before reading the files.
  FileChanges(const Runtime& runtime, std::vector<std::string> paths);

  // Waits for a change since the construction or the last return. May report too much. Throws
  // Cancelled.
  Task<> changed();

 private:
  Task<bool> is_reported_by(Clock::TimePoint when);

  Runtime runtime_;
  std::vector<std::string> paths_;
  std::unique_ptr<FileWatch> watch_;  // null: the kernel refused one
  std::vector<FileStamp> seen_;
};

}  // namespace nodepool::async
