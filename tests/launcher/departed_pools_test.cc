// Pools that deregister and may return.

#include "launcher/departed_pools.h"

#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

using model::Component;
using model::NodeRequest;
using std::chrono::seconds;

// Provider `sky` with the pool `main` and the label `small`.
class ConfiguredSky final : public driver::ProviderConfig {
 public:
  ConfiguredSky() : ProviderConfig({.name = "sky"}) { pools_["main"].labels = {"small"}; }
};

class DepartedPoolsTest : public PartsFixture {
 protected:
  DepartedPoolsTest() {
    pools_.set_timeout(seconds(120));
    pass(seconds(1000));
  }

  static Component pool(const std::string& id, std::vector<std::string> labels) {
    Component component;
    component.kind = Component::Kind::pool;
    component.id = id;
    component.name = "main";
    component.provider_name = "sky";
    component.supported_labels = std::move(labels);
    return component;
  }

  static NodeRequest request(std::vector<std::string> labels) {
    NodeRequest request;
    request.node_types = std::move(labels);
    return request;
  }

  std::string expected_for(const NodeRequest& request) const {
    return pools_.expected_for(request, registered_, nodes_, clock_.now());
  }

  DepartedPools pools_;
  std::vector<const Component*> registered_;
};

TEST_F(DepartedPoolsTest, a_pool_that_has_left_is_waited_for_a_while) {
  pools_.left(pool("a", {"small", "large"}), clock_.now());
  EXPECT_EQ(expected_for(request({"small", "large"})), "sky-main");
  EXPECT_EQ(expected_for(request({"small", "typo"})), "") << "no pool has ever offered it";
  pass(seconds(119));
  EXPECT_EQ(expected_for(request({"small"})), "sky-main");
  pass(seconds(1));
  EXPECT_EQ(expected_for(request({"small"})), "");
}

TEST_F(DepartedPoolsTest, one_that_has_declined_is_not_waited_for) {
  pools_.left(pool("a", {"small"}), clock_.now());
  NodeRequest declined = request({"small"});
  declined.declined_by = {"a"};
  EXPECT_EQ(expected_for(declined), "");
}

TEST_F(DepartedPoolsTest, one_that_is_back_decides_itself) {
  pools_.left(pool("a", {"small"}), clock_.now());
  const Component back = pool("b", {"small"});
  registered_ = {&back};
  EXPECT_EQ(expected_for(request({"small"})), "");
}

TEST_F(DepartedPoolsTest, one_that_was_taken_out_of_the_configuration_does_not_come_back) {
  pools_.forget("a");
  pools_.left(pool("a", {"small"}), clock_.now());
  EXPECT_EQ(expected_for(request({"small"})), "");
}

TEST_F(DepartedPoolsTest, a_configured_pool_is_expected_until_it_is_registered) {
  pools_.set_configured({{"sky", std::make_shared<ConfiguredSky>()}});
  EXPECT_EQ(expected_for(request({"small"})), "sky-main");
  EXPECT_EQ(expected_for(request({"small", "typo"})), "");
  pass(seconds(1000));
  EXPECT_EQ(expected_for(request({"small"})), "sky-main") << "its provider may not have started";
  const Component registered = pool("a", {"small"});
  registered_ = {&registered};
  EXPECT_EQ(expected_for(request({"small"})), "");
  registered_.clear();
  pools_.set_configured({});
  EXPECT_EQ(expected_for(request({"small"})), "");
}

TEST_F(DepartedPoolsTest, at_startup_pools_are_inferred_from_nodes) {
  model::Node node = idle_node("main", "small");
  node.provider = "sky";
  add_node(node);
  EXPECT_EQ(expected_for(request({"small"})), "") << "long after the beginning";
  pools_.begin(clock_.now());
  EXPECT_EQ(expected_for(request({"small"})), "sky-main");
  EXPECT_EQ(expected_for(request({"small", "large"})), "");
  pass(seconds(120));
  EXPECT_EQ(expected_for(request({"small"})), "");
}

}  // namespace
}  // namespace nodepool::launcher
