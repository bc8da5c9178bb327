#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/network.h"

namespace nodepool::test_support {

// A real Gearman job server for this test alone, on the loopback interface. Its port stays the same
// through stops and starts; it forgets its jobs. What is left running at the end is killed.
class Gearmand {
 public:
  // Starts it. Throws std::runtime_error; a missing gearmand is an error, so that a suite does not
  // pass without having tested anything.
  Gearmand();

  std::uint16_t port() const { return port_.number(); }

  // Returns when the server accepts connections.
  void start();
  // Ends it as a crash would, and waits for that.
  void kill();

  // How many workers offer the function; nothing if the server has never heard of it.
  std::optional<int> workers(const std::string& function) const;
  // Who is connected now: the ports at the other ends.
  std::set<std::uint16_t> peers() const;
  // How many jobs of the function wait or are being done.
  int jobs(const std::string& function) const;

  // The command `gearman` for this server: more arguments follow. For a client with a job:
  // "-f", the function, "-u", what it calls the job, the payload.
  std::vector<std::string> client(const std::vector<std::string>& arguments) const;

 private:
  struct Line {
    int jobs = 0;
    int workers = 0;
  };
  std::optional<Line> status(const std::string& function) const;

  ReservedPort port_;
  std::optional<Child> process_;
};

}  // namespace nodepool::test_support
