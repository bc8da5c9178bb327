#pragma once

#include <chrono>
#include <string>

#include "async/runtime.h"

namespace nodepool::program {

// What systemd is told of a daemon that it has started with Type=notify. Reference: sd_notify(3).
// Where nobody wants to know (no NOTIFY_SOCKET), nothing is told; what cannot be told is lost.
class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  explicit ServiceManager(const async::Runtime& runtime);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // The start is over; `status` says what the daemon does.
  void started(const std::string& status);
  void stopping();

  // How long it lets a loop stand still before it ends the process; 0: for ever.
  async::Duration patience() const { return watchdog_; }

  // Says again and again that the loop turns, if somebody restarts daemons whose loop does not.
  // Until it is cancelled.
  async::Task<> feed_watchdog();

 private:
  void send(const std::string& message) const;

  async::Runtime runtime_;
  int socket_ = -1;                        // connected; -1: nobody wants to know
  std::chrono::microseconds watchdog_{0};  // 0: none
};

}  // namespace nodepool::program
