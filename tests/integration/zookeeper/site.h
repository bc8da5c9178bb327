#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/coordination/zookeeper/fixture/faults.h"
#include "tests/integration/installation.h"
#include "tests/integration/zookeeper/load.h"
#include "tests/integration/zookeeper/proxy_thread.h"
#include "tests/support/network.h"

namespace nodepool::integration {

// The keys of nodepool.yaml for servers of the ensemble at these loopback ports. The timeout is in
// seconds.
std::string zookeeper_keys(const test_support::ZooKeeperEnsemble& ensemble,
                           const std::vector<std::uint16_t>& ports, const std::string& chroot,
                           const std::string& timeout);

// Hosts with daemons on one ZooKeeper ensemble of three, by way of TLS, each test in a chroot of
// its own.
class ZooKeeperSite : public coordination::zookeeper::FaultTest {
 protected:
  ZooKeeperSite();
  ~ZooKeeperSite() override;

  // The keys of nodepool.yaml for servers at these loopback ports. The timeout is in seconds.
  std::string zookeeper_keys(const std::vector<std::uint16_t>& ports, const std::string& timeout);
  // All members, as users have it.
  std::string zookeeper_keys(const std::string& timeout = "10.0");

  // A static provider with this many hosts, which answer, with label "a".
  std::string hosts(int count) const;

  // Runs the loop of the test, and so the load, until the condition holds; fails if it does not.
  void wait_until(const std::string& what, const std::function<bool()>& condition);

  // Waits until all is as it was before anybody asked: no request, exactly `nodes` records, all
  // ready and free, and no lock has contenders.
  void wait_until_at_rest(std::size_t nodes);
  // What is not at rest; empty if all is.
  std::string unrest(std::size_t nodes);

  // A walk below `path`, all paths.
  std::vector<std::string> paths(const std::string& path);
  std::vector<std::string> components(const std::string& kind);

  test_support::ZooKeeperEnsemble& ensemble_;
  const test_support::TcpListener listener_{test_support::TcpListener::Behaviour::closing};
  std::unique_ptr<coordination::Store> store_;  // the test's own session
};

}  // namespace nodepool::integration
