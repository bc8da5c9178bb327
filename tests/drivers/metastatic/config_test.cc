#include "config/validate.h"
#include "tests/drivers/metastatic/metastatic_fixture.h"

namespace nodepool::drivers::metastatic {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const MetastaticConfig& as_metastatic(const std::shared_ptr<const driver::ProviderConfig>& config) {
  return dynamic_cast<const MetastaticConfig&>(*config);
}

TEST_F(MetastaticTest, what_is_not_said_is_as_with_the_python_nodepool) {
  rules = "";
  pool = "max-servers: 3";
  const auto loaded = load();
  const MetastaticConfig& config = as_metastatic(loaded);
  const BackingRules& small = *config.find_rules("small");
  EXPECT_EQ(small.label, "big");
  EXPECT_EQ(small.slots, 1);
  EXPECT_EQ(small.grace_time, 60);
  EXPECT_EQ(small.min_retention, 0);
  EXPECT_FALSE(small.max_age);
  EXPECT_EQ(config.find_rules("tiny"), nullptr);
  EXPECT_EQ(config.boot_timeout(), std::chrono::minutes(2));
  EXPECT_EQ(config.launch_timeout(), std::chrono::hours(1));
  EXPECT_EQ(config.launch_retries(), 3);
  EXPECT_FALSE(config.machine_label("main", "small").host_key_checking);
}

TEST_F(MetastaticTest, everything_can_be_set) {
  rules = "max-parallel-jobs: 4, grace-time: 1, min-retention-time: 2, max-age: 3";
  pool = "host-key-checking: true";
  more_labels = "          - {name: tiny, backing-label: other, host-key-checking: false}\n";
  const auto loaded = load();
  const MetastaticConfig& config = as_metastatic(loaded);
  EXPECT_EQ(*config.find_rules("small"), (BackingRules{"big", 4, 1, 2, 3}));
  EXPECT_TRUE(config.machine_label("main", "small").host_key_checking);
  EXPECT_FALSE(config.machine_label("main", "tiny").host_key_checking);
}

TEST_F(MetastaticTest, a_max_age_of_0_is_none) {
  rules = "max-age: 0, min-retention-time: 100";
  EXPECT_FALSE(as_metastatic(load()).find_rules("small")->max_age);
}

TEST_F(MetastaticTest, what_makes_no_sense_is_refused) {
  rules = "min-retention-time: 100, max-age: 99";
  EXPECT_THAT(load_error(), HasSubstr("max-age: must be at least min-retention-time"));
  for (const char* slots : {"0", "10001", ".inf"}) {
    rules = std::string("max-parallel-jobs: ") + slots;
    EXPECT_THAT(load_error(), HasSubstr("max-parallel-jobs: must be from 1 to 10000")) << slots;
  }
  rules = "grace-time: -1";
  EXPECT_THAT(load_error(), HasSubstr("grace-time"));
}

TEST_F(MetastaticTest, labels_on_the_same_backing_label_have_to_agree) {
  rules = "max-parallel-jobs: 2";
  more_labels = "          - {name: tiny, backing-label: big, max-parallel-jobs: 3}\n";
  EXPECT_THAT(load_error(), HasSubstr("label tiny has the backing label big, as label small has"));
  more_labels = "          - {name: tiny, backing-label: big, max-parallel-jobs: 2}\n";
  EXPECT_THAT(load_error(), IsEmpty());
}

TEST_F(MetastaticTest, the_strict_check_knows_the_driver) {
  const config::DriverSchemas drivers{.schemas = {{"metastatic", &metastatic_schema()}}};
  const std::string good = R"(
labels: [{name: small}]
providers:
  - {name: shares, driver: metastatic, boot-timeout: 1, launch-timeout: 2, launch-retries: 3,
     max-concurrency: 4, pools: [{name: main, max-servers: 3, host-key-checking: true,
     labels: [{name: small, backing-label: big}]}]}
)";
  EXPECT_THAT(config::validate(good, "f", {}, drivers), IsEmpty());
  std::string old = good;
  old.replace(old.find("boot-timeout"), 12, "rate: 2, boot-timeout");
  EXPECT_THAT(config::validate(old, "f", {}, drivers), testing::SizeIs(1));
}

// --- records

TEST(BackingRecord, what_is_written_is_read) {
  BackingRecord record;
  record.owner = owner_of("shares");
  record.label = "small";
  record.slots = 3;
  record.failed = true;
  record.launched = 1700000000.25;
  record.used = 1700000001.5;
  record.tenants[2] = {"0000000007", {{"nodepool_node_id", "0000000007"}}};
  model::Node node;
  node.state = model::NodeState::in_use;
  node.user_data = to_user_data(record);
  EXPECT_EQ(backing_record_of(node, owner_of("shares")), record);
  EXPECT_EQ(backing_record_of(node, owner_of("share")), std::nullopt);
  record.failed = false;
  node.user_data = to_user_data(record);
  EXPECT_FALSE(backing_record_of(node, owner_of("shares"))->failed);
  node.comment = "its machine has stopped";
  EXPECT_TRUE(backing_record_of(node, owner_of("shares"))->failed);
  node.state = model::NodeState::used;
  EXPECT_EQ(backing_record_of(node, owner_of("shares")), std::nullopt);
}

TEST(BackingRecord, what_others_write_is_none) {
  model::Node node;
  node.state = model::NodeState::in_use;
  for (const char* text :
       {R"({"zuul_system": "NodePool:metastatic:shares"})", R"("NodePool:metastatic:shares")",
        R"("{\"owner\": \"NodePool:meta")", R"("[\"NodePool:metastatic:shares\"]")"}) {
    node.user_data = model::Json::parse(text);
    EXPECT_EQ(backing_record_of(node, owner_of("shares")), std::nullopt) << text;
  }
}

TEST(BackingRecord, the_lowest_slot_is_taken_first) {
  BackingRecord record;
  record.slots = 3;
  record.tenants[0] = {};
  EXPECT_EQ(free_slot(record, {}), 1);
  EXPECT_EQ(free_slot(record, {1}), 2);
  EXPECT_EQ(free_slot(record, {1, 2}), std::nullopt);
}

TEST(BackingRecord, places_have_names) {
  EXPECT_EQ(to_string(Slot{"0000000012", 3}), "0000000012:3");
  EXPECT_EQ(parse_slot("0000000012:3"), (Slot{"0000000012", 3}));
  for (const char* text : {"", ":1", "1", "1:", "1:x", "1:-1", "1:1x"}) {
    EXPECT_EQ(parse_slot(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace nodepool::drivers::metastatic
