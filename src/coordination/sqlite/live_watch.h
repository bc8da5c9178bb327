#pragma once

#include <memory>
#include <string>

#include "async/task.h"

namespace nodepool::coordination::sqlite {

// Events of a LiveDirectory.
struct LiveEvents {
  bool bell = false;      // the database has changed
  bool sessions = false;  // a session may have ended
  bool lost = false;      // events were lost, or the directory was removed: no more events until
                          // the next arm()
};

// Watches a LiveDirectory with inotify on the event loop.
class LiveWatch {
 public:
  // Throws StoreError(storage), also if the directory does not exist.
  LiveWatch(const async::Executor& executor, std::string directory);
  ~LiveWatch();
  LiveWatch(const LiveWatch&) = delete;
  LiveWatch& operator=(const LiveWatch&) = delete;

  // Restarts the watch after LiveEvents::lost. Throws StoreError(storage).
  void arm();

  // Waits for events and returns those since the last call. Throws Cancelled, StoreError(storage).
  async::Task<LiveEvents> next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodepool::coordination::sqlite
