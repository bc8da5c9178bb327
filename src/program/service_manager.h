#pragma once

#include <array>
#include <chrono>
#include <string>

#include "async/runtime.h"

namespace nodepool::program {

// The variables that ServiceManager reads. A daemon does not pass them on to its programs: these
// would notify systemd in its name.
inline constexpr std::array<const char*, 3> kServiceManagerVariables = {
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};

// Notifies systemd about a daemon with Type=notify. Reference: sd_notify(3). Does nothing without
// NOTIFY_SOCKET; a notification that cannot be sent is dropped.
class ServiceManager {
 public:
  // Reads its variables.
  explicit ServiceManager(const async::Runtime& runtime);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // The daemon has started; `status` is a text for `systemctl status`.
  void started(const std::string& status);
  // The status has changed. Sends nothing if it has not, or before started().
  void set_status(const std::string& status);
  void stopping();

  // The timeout of systemd's watchdog; 0: it has none.
  async::Duration watchdog_timeout() const { return watchdog_; }

  // Notifies the watchdog, if there is one, until it is cancelled. A stalled loop stops that.
  async::Task<> feed_watchdog();

 private:
  // Returns whether it was sent.
  bool send(const std::string& message) const;

  async::Runtime runtime_;
  int socket_ = -1;                        // connected; -1: none
  std::chrono::microseconds watchdog_{0};  // 0: none
  std::string status_;                     // the last one that was sent; empty: none
};

}  // namespace nodepool::program
