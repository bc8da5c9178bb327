// Two launchers and one request in progress: the actions of a launcher with stale tables.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/yaml.h"
#include "coordination/tree.h"
#include "launcher/node_request_handler.h"
#include "model/paths.h"
#include "tests/launcher/cloud_double.h"
#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Node;
using model::NodeRequest;
using model::NodeState;
using model::RequestState;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kSkyOfTakeOver =
    R"({name: sky, driver: cloud, pools: [{name: main, labels: [small]}]})";

class TakeOverTest : public PartsFixture {
 protected:
  static constexpr auto kRequest = "200-0000000000";

  // A request served by another launcher, with one node in this state. Both are known here.
  void serve_elsewhere(NodeState state) {
    loop_.run(coordination::ensure_path(others_, std::string(model::kRequestLocksRoot)));
    NodeRequest request;
    request.id = kRequest;
    request.node_types = {"small"};
    request.requestor = "zuul";
    request.set_state(RequestState::pending, 0);
    loop_.run(others_.create(model::request_path(kRequest), to_record(request),
                             coordination::CreateMode::persistent));
    Node node = idle_node("main", "small");
    node.allocated_to = kRequest;
    node.set_state(state, 0);
    node_ = add_node(node);
  }

  void write_elsewhere(const NodeRequest& request) {
    loop_.run(
        others_.set(model::request_path(kRequest), to_record(request), coordination::kAnyVersion));
  }

  NodeRequestHandler::Outcome resume() {
    NodeRequestHandler handler(context_, {"host-sky-main", "sky", "main"}, kRequest);
    return loop_.run(handler.resume(sky()));
  }

  NodeRequest stored_request() {
    return model::parse_node_request(kRequest,
                                     loop_.run(others_.get(model::request_path(kRequest))));
  }

  Node stored_node() {
    return model::parse_node(node_, loop_.run(others_.get(model::node_path(node_))));
  }

  std::vector<std::string> contenders() {
    std::vector<std::string> all;
    for (const std::string& lock :
         {model::request_lock_path(kRequest), model::node_lock_path(node_)}) {
      if (!loop_.run(others_.exists(lock))) continue;
      for (const std::string& name : loop_.run(others_.children(lock))) all.push_back(name);
    }
    return all;
  }

  std::string node_;

 private:
  ProviderInService sky() {
    config::ProviderSection section{.name = "sky", .driver = "cloud"};
    section.value = config::parse_yaml(kSkyOfTakeOver, "nodepool.yaml");
    std::shared_ptr<driver::Provider> provider =
        driver_.provider(driver_.configure(section, config::Config()),
                         {runtime_, store_, nodes_, images_, threads_, log_, telemetry::Metrics()});
    return {provider, std::make_shared<ProviderQuota>(runtime_, provider, log_), nullptr};
  }

  CloudDriver driver_{std::make_shared<Cloud>()};
};

TEST_F(TakeOverTest, a_request_abandoned_by_its_launcher_is_fulfilled) {
  serve_elsewhere(NodeState::ready);
  fall_behind();
  EXPECT_EQ(resume(), NodeRequestHandler::Outcome::done);
  EXPECT_EQ(stored_request().state, RequestState::fulfilled);
  EXPECT_THAT(stored_request().nodes, ElementsAre(node_));
  EXPECT_THAT(contenders(), IsEmpty());
}

// The other launcher hands out the node and releases its locks while this one takes over. The node
// is not written then, so only the request's version has changed.
TEST_F(TakeOverTest, a_node_that_was_handed_out_meanwhile_is_not_taken_from_its_request) {
  serve_elsewhere(NodeState::ready);
  fall_behind();
  NodeRequest fulfilled = stored_request();
  fulfilled.nodes = {node_};
  fulfilled.set_state(RequestState::fulfilled, 1);
  write_elsewhere(fulfilled);
  EXPECT_EQ(resume(), NodeRequestHandler::Outcome::try_again);
  EXPECT_EQ(stored_node().allocated_to, kRequest);
  EXPECT_EQ(stored_node().state, NodeState::ready);
  EXPECT_EQ(stored_request().state, RequestState::fulfilled);
  EXPECT_THAT(contenders(), IsEmpty());
}

// The other launcher has reset the request, and the node is about to be reclaimed.
TEST_F(TakeOverTest, a_launch_for_a_reset_request_is_not_resumed) {
  serve_elsewhere(NodeState::building);
  fall_behind();
  const Node before = stored_node();
  NodeRequest revert_to_requested = stored_request();
  revert_to_requested.set_state(RequestState::requested, 1);
  write_elsewhere(revert_to_requested);
  EXPECT_EQ(resume(), NodeRequestHandler::Outcome::try_again);
  EXPECT_EQ(stored_node().stat.version, before.stat.version);
  EXPECT_EQ(stored_request().state, RequestState::requested);
  EXPECT_THAT(contenders(), IsEmpty());
}

}  // namespace
}  // namespace nodepool::launcher
