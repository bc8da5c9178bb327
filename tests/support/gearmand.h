#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/network.h"

namespace nodepool::test_support {

// A Gearman job server for one test, on the loopback interface. A restart keeps the port but not
// the jobs. Killed on destruction.
class Gearmand {
 public:
  // Starts it. Throws std::runtime_error, also if gearmand is missing, so that a suite cannot pass
  // without testing anything.
  Gearmand();

  std::uint16_t port() const { return port_.number(); }

  // Waits until the server accepts connections.
  void start();
  // Kills it and waits for its end.
  void kill();

  // The number of workers with the function; nothing if the server does not know the function.
  std::optional<int> workers(const std::string& function) const;
  // The connected clients, by their ports.
  std::set<std::uint16_t> peers() const;
  // The number of waiting and running jobs of the function.
  int jobs(const std::string& function) const;

  // The beginning of a command line of `gearman` for this server. To submit a job, append "-f", the
  // function, "-u", the job's unique id, the payload.
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
