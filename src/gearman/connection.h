#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "gearman/job.h"

namespace nodepool::gearman {

// A Gearman job server.
struct Server {
  std::string host;
  std::uint16_t port = 4730;

  friend auto operator<=>(const Server&, const Server&) = default;

  // "host:port", for messages.
  std::string name() const { return host + ":" + std::to_string(port); }
};

// The connection to a server is lost.
class ConnectionLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A connection to a server, with one job at a time (libgearman's worker). All functions except
// wake() must be called on one thread, and block.
class Connection {
 public:
  using Functions = std::set<std::string, std::less<>>;

  // Called on the thread of the connection.
  struct Callbacks {
    std::function<void()> ready;  // the functions are registered
    // Starts a job on the event loop. Returns null to reject it. An exception returns it to the
    // server.
    std::function<std::shared_ptr<Job>(Job::Request request)> start;
    // Whether to stop waiting for a job.
    std::function<bool()> interrupted;
    std::function<bool()> stopping;  // whether to end
  };

  // Sends nothing yet. After a silence of `heartbeat`, requests a job again, or sends the status of
  // the job again, to detect a lost connection. Throws ConnectionLost.
  Connection(const Server& server, std::chrono::milliseconds heartbeat, Callbacks callbacks);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Offers these functions and runs jobs until interrupted() or stopping(). Returns whether the
  // connection can be used for other functions: after a job it cannot, because libgearman requests
  // another job first. Throws ConnectionLost; then the connection is unusable.
  bool serve(const Functions& functions);

  // Ends the current wait. May be called on any thread.
  void wake();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodepool::gearman
