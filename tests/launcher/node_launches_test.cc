// The records of a launch and of other launchers.

#include "launcher/node_launches.h"

#include <gtest/gtest.h>

#include "config/yaml.h"
#include "coordination/path.h"
#include "model/paths.h"
#include "tests/launcher/cloud_double.h"
#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

constexpr auto kSky = R"({name: sky, driver: cloud, pools: [{name: main, labels: [small]}]})";

class NodeLaunchesTest : public PartsFixture {
 protected:
  ProviderInService sky() {
    config::ProviderSection section{.name = "sky", .driver = "cloud"};
    section.value = config::parse_yaml(kSky, "nodepool.yaml");
    return {
        driver_.provider(driver_.configure(section, config::Config()),
                         {runtime_, store_, nodes_, images_, threads_, log_, telemetry::Metrics()}),
        nullptr, nullptr};
  }

  // Records a node for a request, without events since then.
  void record(NodeLaunches& launches) {
    model::NodeRequest request;
    request.id = "200-0000000000";
    model::RecordBatch batch;
    launches.create_in(batch, request, {"small"}, std::nullopt);
    loop_.run(batch.commit(store_));
    loop_.run(launches.created(0));
  }

  // Records a node of another launcher.
  void record_elsewhere() {
    loop_.run(others_.create(model::node_path(""), to_record(idle_node("main", "small")),
                             coordination::CreateMode::persistent_sequential));
  }

  CloudDriver driver_{std::make_shared<Cloud>()};
  coordination::LockSet locks_{store_, random_};
  const QuotaBounds one_node_{.provider = {}, .pool = {{"instances", 1}}, .tenant = {}};
};

// A launcher that lost its session is not registered for a moment, but continues its launches. Its
// records may not be known here yet.
TEST_F(NodeLaunchesTest, nodes_of_an_unregistered_launcher_count) {
  needs_["small"] = Resources({{"instances", 1}});
  fall_behind();
  NodeLaunches launches(context_, sky(), {"host-sky-main", "sky", "main"}, locks_, log_);
  record_elsewhere();
  record(launches);
  EXPECT_FALSE(loop_.run(launches.fit(one_node_)));
}

TEST_F(NodeLaunchesTest, the_later_record_yields) {
  needs_["small"] = Resources({{"instances", 1}});
  NodeLaunches launches(context_, sky(), {"host-sky-main", "sky", "main"}, locks_, log_);
  record(launches);
  record_elsewhere();
  EXPECT_TRUE(loop_.run(launches.fit(one_node_)));
}

// The store may join the transactions of several requests into one, whose response may be lost.
TEST_F(NodeLaunchesTest, nodes_are_told_apart_that_one_transaction_created_for_two_requests) {
  NodeLaunches first(context_, sky(), {"host-sky-main", "sky", "main"}, locks_, log_);
  NodeLaunches second(context_, sky(), {"host-sky-main", "sky", "main"}, locks_, log_);
  model::RecordBatch batch;
  model::NodeRequest request;
  request.id = "200-0000000000";
  first.create_in(batch, request, {"small"}, std::nullopt);
  request.id = "200-0000000001";
  second.create_in(batch, request, {"small", "small"}, std::nullopt);
  const auto lost = loop_.run(store_.commit(std::move(batch.transaction())));
  const std::int64_t transaction = lost.front().stat.czxid;
  const auto ids = [&](NodeLaunches& launches) {
    std::vector<std::string> found;
    for (const RequestedNode& node : loop_.run(launches.created(transaction))) {
      found.push_back(node.node_id);
    }
    return found;
  };
  EXPECT_EQ(ids(second), (std::vector<std::string>{"0000000001", "0000000002"}));
  EXPECT_EQ(ids(first), (std::vector<std::string>{"0000000000"}));
}

TEST_F(NodeLaunchesTest, a_locked_node_is_not_launched) {
  NodeLaunches launches(context_, sky(), {"host-sky-main", "sky", "main"}, locks_, log_);
  record(launches);
  settle();
  const std::string id = nodes_.all().begin()->first;
  coordination::Lock lock(others_, random_, model::node_lock_path(id));
  ASSERT_TRUE(loop_.run(lock.try_acquire()));
  EXPECT_EQ(loop_.run(launches.begin()), NodeLaunches::Step::refused);
  settle();
  EXPECT_EQ(node(id).state, model::NodeState::init);
  loop_.run(lock.release());
  EXPECT_EQ(loop_.run(launches.begin()), NodeLaunches::Step::done);
  EXPECT_EQ(node(id).state, model::NodeState::building);
}

}  // namespace
}  // namespace nodepool::launcher
