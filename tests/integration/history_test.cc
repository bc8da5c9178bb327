#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/installation.h"
#include "tests/support/network.h"

namespace nodepool::integration {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST(HistoryTest, what_has_happened_can_be_read_while_the_launcher_runs_and_when_it_is_dead) {
  const test_support::TcpListener host(test_support::TcpListener::Behaviour::closing);
  Installation site;
  site.configure(
      "  - name: rack\n    driver: static\n    pools:\n      - name: main\n        nodes:\n"
      "          - {name: 127.0.0.1, username: ci, host-key-checking: false, labels: [a],\n"
      "             connection-port: " +
      std::to_string(host.port()) + "}\n");
  site.start_launcher();
  site.wait_until_all_ready(1);
  const std::string node = site.nodes().front().at("id");
  const std::string request = site.json({"request", "a"}).at("lease");
  ASSERT_EQ(site.nodepool({"release", request}).status, 0);
  site.wait_until("the node's end in its history", [&site, &node] {
    return site.nodepool({"history", node}).output.contains("gone");
  });
  site.kill_launcher();

  std::vector<std::string> events;
  for (const nlohmann::json& entry : site.json({"history", request})) {
    events.push_back(entry.at("event"));
    if (events.back() == "fulfilled") EXPECT_EQ(entry.at("nodes").at(0), node);
  }
  // The request and the node have different watches.
  EXPECT_THAT(events, UnorderedElementsAre("requested", "decision", "fulfilled", "leased",
                                           "answered", "released"));
  EXPECT_THAT(site.nodepool({"history", node}).output, HasSubstr("| " + request + " |"));
  const Completed unknown = site.nodepool({"history", "0000009999"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.error, HasSubstr("has no entries for 0000009999"));
}

}  // namespace
}  // namespace nodepool::integration
