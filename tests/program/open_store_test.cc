#include "program/open_store.h"

#include <gtest/gtest.h>

#include <chrono>

namespace nodepool::program {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(OpenStore, all_servers_can_be_tried_in_the_last_third_of_the_session) {
  struct Row {
    int servers;
    double timeout;
    milliseconds connect;
  };
  const Row rows[] = {
      {1, 30, seconds(10)}, {2, 30, seconds(5)},  {3, 90, seconds(10)},
      {3, 10, seconds(3)},  {1, 0.5, seconds(3)}, {0, 30, seconds(10)},  // will be refused
  };
  for (const Row& row : rows) {
    config::ZooKeeper zookeeper;
    zookeeper.tls.insecure_plaintext = true;
    zookeeper.timeout = row.timeout;
    zookeeper.servers.resize(static_cast<std::size_t>(row.servers), {.host = "zk"});
    EXPECT_EQ(zookeeper_options(zookeeper).connect_timeout, row.connect)
        << row.servers << " servers, " << row.timeout << " s";
  }
}

}  // namespace
}  // namespace nodepool::program
