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

// The connection to a server does not serve any more.
class ConnectionLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One connection to one server, with one job at a time: libgearman's worker. All functions but
// wake() belong to one thread, and block.
class Connection {
 public:
  using Functions = std::set<std::string, std::less<>>;

  // What the thread wants to know and to do; called on it.
  struct Callbacks {
    std::function<void()> ready;  // the server knows the functions now
    // Takes a job to the loop. Null if it is not to be done; an exception gives it back.
    std::function<std::shared_ptr<Job>(Job::Request request)> start;
    // Whether the thread has something else to do than to wait for a job.
    std::function<bool()> interrupted;
    std::function<bool()> stopping;  // whether that is to end
  };

  // Nothing is sent yet. A server that is silent for `heartbeat` may be gone: it is asked for a job
  // anew, or told once more how far a job is. Throws ConnectionLost.
  Connection(const Server& server, std::chrono::milliseconds heartbeat, Callbacks callbacks);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Offers these functions and does jobs until interrupted(), or stopping(). Returns whether the
  // connection can be told of other functions: after a job libgearman asks for another one first,
  // as if nothing had changed. Throws ConnectionLost; then the connection is of no use either.
  bool serve(const Functions& functions);

  // Ends a wait under way; may be called on any thread.
  void wake();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nodepool::gearman
