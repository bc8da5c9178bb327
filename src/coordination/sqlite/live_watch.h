#pragma once

#include <memory>
#include <string>

#include "async/task.h"

namespace nodepool::coordination::sqlite {

// What has happened in a LiveDirectory.
struct LiveNews {
  bool bell = false;      // the database has changed
  bool sessions = false;  // a session may have ended
  bool lost = false;      // events were lost, or the directory was removed: anything may have
                          // happened, and nothing more is told until the next arm()
};

// Hears on the event loop, through inotify, what happens in a LiveDirectory.
class LiveWatch {
 public:
  // Throws StoreError(storage), also if the directory does not exist.
  LiveWatch(const async::Executor& executor, std::string directory);
  ~LiveWatch();
  LiveWatch(const LiveWatch&) = delete;
  LiveWatch& operator=(const LiveWatch&) = delete;

  // Begins to listen again after LiveNews::lost. Throws StoreError(storage).
  void arm();

  // Returns what has happened since the last call, as soon as that is something. Throws Cancelled,
  // StoreError(storage).
  async::Task<LiveNews> next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodepool::coordination::sqlite
