// Nodes on nodes, with the programs as users run them: a launcher is a requestor of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/installation.h"

namespace nodepool::integration {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A host that is never contacted.
constexpr const char* kRack = R"(
  - name: rack
    driver: static
    pools:
      - name: main
        nodes: [{name: 127.0.1.1, labels: [a], username: ci, host-key-checking: false}]
)";

// Machines that come up in a moment.
constexpr const char* kSky = R"(
  - name: fake-sky
    driver: fake
    cloud: fake
    cloud-images: [{name: Fake Precise}]
    fake-cloud: {boot-time: 0.5}
    pools:
      - name: main
        labels: [{name: a, cloud-image: Fake Precise, flavor-name: Fake Flavor}]
)";

constexpr const char* kShares = R"(
  - name: shares
    driver: metastatic
    pools:
      - name: main
        labels: [{name: b, backing-label: a, max-parallel-jobs: 2, grace-time: 0}]
)";

class MetastaticProcessTest : public testing::Test {
 protected:
  MetastaticProcessTest() {
    site_.directory().write("clouds.yaml", "clouds:\n  fake: {auth: {}}\n");
  }

  std::vector<Installation::Row> nodes_of(const std::string& provider) const {
    auto rows = site_.nodes();
    std::erase_if(rows, [&](const auto& row) { return row.at("provider") != provider; });
    return rows;
  }

  // Whether a launch has begun. It may have ended since: a busy machine shows not every state.
  bool has_begun(const std::string& provider) const {
    const auto rows = nodes_of(provider);
    return std::ranges::any_of(rows, [](const auto& row) { return row.at("state") != "init"; });
  }

  bool has(const std::string& provider, const std::string& state) const {
    const auto rows = nodes_of(provider);
    return std::ranges::any_of(rows, [&](const auto& row) { return row.at("state") == state; });
  }

  Installation site_;
};

TEST_F(MetastaticProcessTest, two_nodes_share_a_host_and_it_comes_back_when_both_have_gone) {
  site_.configure(std::string(kRack) + kShares);
  site_.start_launcher();
  site_.wait_until_all_ready(1);
  const nlohmann::json lease = site_.json({"request", "b", "b", "--lease", "10m"});
  ASSERT_THAT(lease.at("nodes"), SizeIs(2));
  for (const auto& node : lease.at("nodes")) {
    EXPECT_EQ(node.at("interface_ip"), "127.0.1.1");
    EXPECT_EQ(node.at("username"), "ci");
  }
  site_.kill_launcher();
  site_.start_launcher();
  // Whoever asks for the host itself waits: it is in use.
  const auto waiting = site_.start_nodepool({"request", "a", "--json"});
  site_.wait_until("the request", [this] { return !site_.json({"request-list"}).empty(); });
  EXPECT_THAT(nodes_of("shares"), SizeIs(2));
  EXPECT_EQ(site_.nodepool({"release", lease.at("lease")}).status, 0);
  ASSERT_EQ(waiting->wait(), 0) << waiting->standard_error();
  const auto host = nlohmann::json::parse(waiting->standard_output());
  EXPECT_EQ(site_.nodepool({"release", host.at("lease")}).status, 0);
  site_.wait_until_all_ready(1);
  EXPECT_EQ(site_.stop_launcher(SIGINT), 0);
}

TEST_F(MetastaticProcessTest, a_launcher_that_is_killed_at_any_step_leaves_nothing_behind) {
  site_.configure(std::string(kSky) + kShares);
  site_.start_launcher();
  const std::vector<std::pair<std::string, std::function<bool()>>> steps = {
      {"the node waits for its backing node", [this] { return has_begun("shares"); }},
      {"the backing node is made", [this] { return has_begun("fake-sky"); }},
      {"the backing node is taken", [this] { return has("fake-sky", "in-use"); }},
      {"the node is there", [this] { return has("shares", "in-use"); }}};
  for (const auto& [step, is_there] : steps) {
    SCOPED_TRACE(step);
    const auto asking = site_.start_nodepool({"request", "b", "--json"});
    site_.wait_until(step, is_there);
    site_.kill_launcher();
    site_.start_launcher();
    ASSERT_EQ(asking->wait(), 0) << asking->standard_error();
    const auto lease = nlohmann::json::parse(asking->standard_output());
    EXPECT_EQ(site_.nodepool({"release", lease.at("lease")}).status, 0);
    // A mere record of which nothing was made goes after some minutes.
    site_.wait_until("nothing is left",
                     [this] { return site_.nodes().size() == site_.nodes("init").size(); });
    EXPECT_THAT(site_.json({"request-list"}), IsEmpty());
  }
  EXPECT_EQ(site_.stop_launcher(SIGINT), 0);
}

TEST_F(MetastaticProcessTest, one_chain_leads_from_the_small_node_to_the_machine) {
  site_.configure(std::string(kSky) + kShares);
  site_.start_launcher();
  const nlohmann::json lease = site_.json({"request", "b"});
  const std::string small = lease.at("nodes").at(0).at("id");
  const std::string machine = nodes_of("fake-sky").at(0).at("id");
  const std::string explained = site_.nodepool({"explain", small}).output;
  EXPECT_THAT(explained,
              HasSubstr("on node " + machine + " (a of fake-sky-main, which is in-use), slot 0"));
  EXPECT_THAT(explained, HasSubstr("Node " + machine + " is in-use"));
  EXPECT_THAT(site_.nodepool({"explain", machine}).output,
              HasSubstr("on it: node " + small + " (b of shares-main, in-use)"));
  site_.wait_until("the history",
                   [&] { return site_.nodepool({"history", small}).output.contains("carries"); });
  const std::string history = site_.nodepool({"history", small}).output;
  EXPECT_THAT(history, HasSubstr("request 100-0000000001 for a backing node with label(s) a"));
  EXPECT_THAT(history, HasSubstr("node " + machine + ", slot 0"));
  EXPECT_THAT(history, HasSubstr("\n100-0000000001:\n")) << "the request for the machine follows";
  EXPECT_THAT(history, HasSubstr("\n" + machine + ":\n"));
  EXPECT_THAT(history, HasSubstr("attempt 1 of 3 succeeded"));
  EXPECT_THAT(history, HasSubstr("node " + small + ", slot 0: node of shares-main, label(s) b"));
  EXPECT_TRUE(site_.json({"history", small}).is_array()) << "programs get what they ask for";
}

TEST_F(MetastaticProcessTest, a_label_that_no_pool_serves_fails_with_the_reason) {
  site_.configure(kShares);
  site_.start_launcher();
  const Completed asked = site_.nodepool({"request", "b"});
  EXPECT_EQ(asked.status, 2);
  EXPECT_THAT(asked.error, HasSubstr("label a failed: node type(s) [a] not available"));
  EXPECT_THAT(site_.json({"request-list"}), IsEmpty());
}

}  // namespace
}  // namespace nodepool::integration
