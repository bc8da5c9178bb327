#include "coordination/zookeeper/server_list.h"

#include <gmock/gmock.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace nodepool::coordination::zookeeper {
namespace {

std::vector<std::string> round_of(ServerList& list) {
  std::vector<std::string> round;
  for (std::size_t i = 0; i < list.size(); ++i) round.push_back(to_string(list.next()));
  return round;
}

TEST(ZooKeeperServerList, each_round_has_every_server_once_in_the_same_order) {
  async::Random random(1);
  ServerList list({{"a", 1}, {"b", 2}, {"::1", 3}}, random);
  const std::vector<std::string> round = round_of(list);
  EXPECT_THAT(round, testing::UnorderedElementsAre("a:1", "b:2", "::1:3"));
  EXPECT_EQ(round_of(list), round);
}

TEST(ZooKeeperServerList, a_server_can_be_repeated) {
  async::Random random(1);
  ServerList list({{"a", 1}, {"b", 2}}, random);
  const std::vector<std::string> round = round_of(list);
  list.repeat();
  EXPECT_EQ(to_string(list.next()), round.at(1));
  EXPECT_EQ(round_of(list), round);
}

TEST(ZooKeeperServerList, clients_begin_with_different_servers) {
  async::Random random(1);
  std::set<std::string> first;
  for (int i = 0; i < 100; ++i) {
    ServerList list({{"a", 1}, {"b", 2}, {"c", 3}}, random);
    first.insert(to_string(list.next()));
  }
  EXPECT_EQ(first.size(), 3);
}

TEST(ZooKeeperBackoff, pauses_double_up_to_seconds_and_vary) {
  using std::chrono::milliseconds;
  async::Random random(1);
  ReconnectBackoff backoff(random);
  for (const int usual : {100, 200, 400, 800, 1600, 3000, 3000, 3000}) {
    const async::Duration pause = backoff.next();
    EXPECT_GE(pause, milliseconds(usual) * 3 / 5);
    EXPECT_LE(pause, milliseconds(usual) * 7 / 5);
    EXPECT_NE(pause, milliseconds(usual));
  }
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
