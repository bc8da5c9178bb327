#include "coordination/zookeeper/server_list.h"

#include <algorithm>
#include <utility>

namespace nodepool::coordination::zookeeper {

namespace {

constexpr async::Duration kLongestPause = std::chrono::seconds(3);

// The jitter of a pause, as a fraction.
constexpr double kJitter = 0.4;

}  // namespace

std::string to_string(const Server& server) {
  return server.host + ":" + std::to_string(server.port);
}

ServerList::ServerList(std::vector<Server> servers, async::Random& random)
    : servers_(std::move(servers)) {
  if (servers_.empty()) {
    throw StoreError(StoreError::Kind::invalid, "no ZooKeeper servers are configured");
  }
  for (std::size_t i = servers_.size() - 1; i > 0; --i) {
    std::swap(servers_[i], servers_[random.below(i + 1)]);
  }
}

const Server& ServerList::next() {
  const Server& server = servers_[next_];
  next_ = (next_ + 1) % servers_.size();
  return server;
}

async::Duration ReconnectBackoff::next() {
  const double factor = 1 - kJitter + 2 * kJitter * random_.fraction();
  const auto pause = std::chrono::duration_cast<async::Duration>(pause_ * factor);
  pause_ = std::min(2 * pause_, kLongestPause);
  return pause;
}

}  // namespace nodepool::coordination::zookeeper
