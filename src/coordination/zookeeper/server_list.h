#pragma once

#include <string>
#include <vector>

#include "async/random.h"
#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::coordination::zookeeper {

// "host:port"
std::string to_string(const Server& server);

// The servers in random order, so that clients spread over them.
class ServerList {
 public:
  // Throws StoreError(invalid) if the list is empty.
  ServerList(std::vector<Server> servers, async::Random& random);

  std::size_t size() const { return servers_.size(); }

  // The next server to try, in rotation.
  const Server& next();

  // Makes the last result of next() the next one, too.
  void repeat() { next_ = (next_ + servers_.size() - 1) % servers_.size(); }

 private:
  std::vector<Server> servers_;
  std::size_t next_ = 0;
};

// The pauses between rounds of attempts: exponential backoff up to a few seconds, with jitter.
class ReconnectBackoff {
 public:
  explicit ReconnectBackoff(async::Random& random) : random_(random) {}

  async::Duration next();

  // The next pause, without jitter.
  async::Duration pause() const { return pause_; }

  // Begins anew.
  void reset() { pause_ = kFirstPause; }

 private:
  static constexpr async::Duration kFirstPause = std::chrono::milliseconds(100);

  async::Random& random_;
  async::Duration pause_ = kFirstPause;
};

}  // namespace nodepool::coordination::zookeeper
