#pragma once

#include <string>
#include <vector>

#include "async/random.h"
#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::coordination::zookeeper {

// "host:port"
std::string to_string(const Server& server);

// The servers in an order of its own for each client, so that they share the clients.
class ServerList {
 public:
  // Throws StoreError(invalid) if there is none.
  ServerList(std::vector<Server> servers, async::Random& random);

  std::size_t size() const { return servers_.size(); }

  // The next server to try; after the last comes the first.
  const Server& next();

 private:
  std::vector<Server> servers_;
  std::size_t next_ = 0;
};

// The pauses between rounds of attempts: they double, up to a few seconds, and vary, so that the
// clients of a server that comes back do not all come at the same moment.
class Backoff {
 public:
  explicit Backoff(async::Random& random) : random_(random) {}

  async::Duration next();

 private:
  async::Random& random_;
  async::Duration pause_ = std::chrono::milliseconds(100);
};

}  // namespace nodepool::coordination::zookeeper
