// What the provider knows of its cloud.

#include <algorithm>
#include <string_view>

#include "tests/driver/statemachine/provider_test.h"

namespace nodepool::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using Kind = CloudError::Kind;

class QuotaTest : public ProviderTest {
 protected:
  QuotaTest() { cloud_->limits = {{"instances", 10}, {"cores", 100}}; }

  Limits available() { return process_->run(process_->provider().available()); }

  void add_machine(Metadata metadata, double cores) {
    Machine machine;
    machine.external_id = model::json_string("m");
    machine.metadata = std::move(metadata);
    machine.resources = Resources({{"instances", 1}, {"cores", cores}});
    cloud_->other_machines.push_back(machine);
  }

  static Metadata owner_tags(const std::string& provider, const std::string& node) {
    return {{std::string(kProviderNameKey), provider},
            {std::string(kNodeIdKey), node},
            {std::string(kInstallationIdKey), harness::kInstallationId}};
  }
};

TEST_F(QuotaTest, what_others_use_is_not_available) {
  const std::string id = add_node();
  add_machine(owner_tags("cloud", id), 1);  // counted by its record
  add_machine({}, 2);
  add_machine(owner_tags("elsewhere", id), 4);
  Metadata of_another_installation = owner_tags("cloud", id);
  of_another_installation[std::string(kInstallationIdKey)] = "there";
  add_machine(of_another_installation, 16);
  add_machine(owner_tags("cloud", "0000009999"), 8);  // leaked
  start();
  EXPECT_THAT(available(), UnorderedElementsAre(Pair("instances", 6), Pair("cores", 70)));
}

// Also in a store that has had its id from the beginning: after a rollback, for a while.
TEST_F(QuotaTest, a_node_of_the_python_nodepool_is_counted_once) {
  model::Node made_by_python = node(add_node());
  made_by_python.state = model::NodeState::in_use;
  made_by_python.external_id = model::json_string("m");
  installation_.write(made_by_python);
  Metadata tags = owner_tags("cloud", made_by_python.id);
  tags.erase(std::string(kInstallationIdKey));
  add_machine(tags, 2);
  start();
  EXPECT_THAT(available(), UnorderedElementsAre(Pair("instances", 10), Pair("cores", 100)));
  made_by_python.external_id = model::json_string("another");
  installation_.write(made_by_python);
  process_->pass(std::chrono::minutes(5));
  EXPECT_THAT(available(), UnorderedElementsAre(Pair("instances", 9), Pair("cores", 98)))
      << "it may be of any installation";
}

TEST_F(QuotaTest, the_last_known_limits_apply_while_the_cloud_gives_none) {
  start();
  cloud_->fail("limits", {Kind::transient});
  EXPECT_THROW(available(), CloudError) << "none are known yet";
  available();
  cloud_->fail("limits", {Kind::transient});
  add_machine({}, 2);
  process_->pass(std::chrono::minutes(5));
  EXPECT_THAT(available(), UnorderedElementsAre(Pair("instances", 9), Pair("cores", 98)));
  EXPECT_TRUE(has_logged("! Error reading limits, using the last known: limits went wrong"));
}

TEST_F(QuotaTest, what_lasts_is_logged_once) {
  const auto times_logged = [this](std::string_view text) {
    return std::ranges::count_if(installation_.log,
                                 [text](const std::string& line) { return line.contains(text); });
  };
  start();
  cloud_->label_problem = "no image jammy";
  available();
  const auto logged = times_logged("cannot be served");
  EXPECT_GT(logged, 0);
  for (int outage = 1; outage <= 2; ++outage) {
    cloud_->fail("limits", {Kind::transient}, 3);
    for (int i = 0; i < 4; ++i) {
      process_->pass(std::chrono::minutes(5));
      available();
    }
    EXPECT_EQ(times_logged("Error reading limits"), outage);
  }
  EXPECT_EQ(times_logged("cannot be served"), logged);
}

TEST_F(QuotaTest, without_a_listing_the_available_quota_is_unknown) {
  start();
  available();
  process_->pass(std::chrono::minutes(5));
  cloud_->fail("list", {Kind::transient});
  EXPECT_THROW(available(), CloudError);
}

TEST_F(QuotaTest, an_outage_is_noticed_although_the_quota_is_ignored) {
  config_->pools_.at("main").ignore_provider_quota = true;
  start();
  EXPECT_THAT(available(), IsEmpty());
  process_->pass(std::chrono::minutes(5));
  for (const char* call : {"limits", "list"}) cloud_->fail(call, {Kind::transient});
  EXPECT_THROW(available(), CloudError);
}

TEST_F(QuotaTest, what_a_label_takes_is_asked) {
  start();
  const Provider& provider = process_->provider();
  EXPECT_EQ(provider.offer()->label("main", "small").need, Resources({{"instances", 1}}))
      << "not known yet";
  available();
  EXPECT_EQ(provider.offer()->label("main", "small").need,
            Resources({{"instances", 1}, {"cores", 4}}));
}

TEST_F(QuotaTest, a_label_that_cannot_be_made_does_not_disturb_the_others) {
  start();
  cloud_->fail("need small", {Kind::permanent});
  available();
  const Provider& provider = process_->provider();
  EXPECT_EQ(provider.offer()->label("main", "small").problem, "need small went wrong");
  available();
  EXPECT_EQ(provider.offer()->label("main", "small").problem, "");
}

TEST_F(QuotaTest, a_cloud_image_that_is_missing_is_a_problem_until_it_is_there) {
  start();
  cloud_->label_problem = "no image jammy";
  available();
  const Provider& provider = process_->provider();
  EXPECT_EQ(provider.offer()->label("main", "small").problem,
            "images are not available: no image jammy");
  cloud_->label_problem.clear();
  available();
  EXPECT_EQ(provider.offer()->label("main", "small").problem, "");
}

TEST_F(QuotaTest, a_diskimage_without_upload_is_a_problem) {
  start();
  EXPECT_THAT(process_->provider().offer()->label("main", "built").problem,
              HasSubstr("no ready upload of trixie"));
  add_upload("b1", 10);
  process_->settle();
  EXPECT_EQ(process_->provider().offer()->label("main", "built").problem, "");
}

TEST_F(QuotaTest, zones_are_the_pool_s_if_it_names_any) {
  start();
  available();
  EXPECT_THAT(process_->provider().offer()->pool("main").zones, IsEmpty()) << "the cloud chooses";
  config_->machine_pools_.at("main").zones = {"z1", "z2"};
  start();
  EXPECT_THAT(process_->provider().offer()->pool("main").zones, ElementsAre("z1", "z2"));
}

}  // namespace
}  // namespace nodepool::driver
