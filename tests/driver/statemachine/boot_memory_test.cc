// How long machines take to come up, over restarts.

#include "tests/driver/statemachine/provider_test.h"

namespace nodepool::driver {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* kRecord = "/nodepool/boot-times/cloud";

class BootMemoryTest : public ProviderTest {
 protected:
  // As the launcher does every minute.
  void clean_up() { process_->run(process_->provider().launching()->remove_leaks()); }

  std::string record() {
    const auto& tree = installation_.server.tree();
    return tree.exists(kRecord) ? tree.get(kRecord).data : "";
  }
};

TEST_F(BootMemoryTest, boot_times_are_kept_across_launchers) {
  cloud_->boot_time = seconds(40);
  launch_new();
  EXPECT_FALSE(cloud_->expected);
  EXPECT_THAT(figures_, Contains(HasSubstr("nodepool.provider.cloud.boot.small:40000.000000|ms")));
  clean_up();
  EXPECT_EQ(record(), R"({"small": [40.0]})");
  launch_new();
  ASSERT_TRUE(cloud_->expected);
  EXPECT_EQ(cloud_->expected->usual, seconds(40));
}

TEST_F(BootMemoryTest, a_reconfigured_provider_keeps_unsaved_boot_times) {
  cloud_->boot_time = seconds(40);
  launch_new();
  process_->replace_provider();
  EXPECT_EQ(record(), "");
  process_->run_until_ended(*process_->launch(add_node()));
  ASSERT_TRUE(cloud_->expected);
  EXPECT_EQ(cloud_->expected->usual, seconds(40));
}

TEST_F(BootMemoryTest, it_is_written_once_in_some_minutes) {
  cloud_->boot_time = seconds(1);
  start();
  for (int minute = 0; minute < 60; ++minute) {
    const auto job = process_->launch(add_node());
    process_->run_until_ended(*job);
    clean_up();
    process_->pass(minutes(1));
  }
  EXPECT_LE(installation_.server.tree().get(kRecord).stat.version, 12);
}

TEST_F(BootMemoryTest, nothing_new_is_not_written) {
  start();
  clean_up();
  EXPECT_EQ(record(), "");
}

TEST_F(BootMemoryTest, what_cannot_be_understood_is_learned_again) {
  launch_new();
  clean_up();
  for (const char* garbage : {"", "[]", R"({"small": 7})", R"({"small": [-1]})",
                              R"({"small": ["x"]})", R"({"small": [1e999]})"}) {
    SCOPED_TRACE(garbage);
    installation_.write_data(kRecord, garbage);
    cloud_->boot_time = seconds(3);
    launch_new();
    EXPECT_FALSE(cloud_->expected);
    clean_up();
    EXPECT_EQ(record(), R"({"small": [3.0]})");
  }
}

TEST_F(BootMemoryTest, a_label_that_is_gone_is_forgotten) {
  launch_new();
  clean_up();
  installation_.write_data(kRecord, R"({"gone": [5.0], "small": [5.0]})");
  cloud_->boot_time = seconds(3);
  launch_new();
  clean_up();
  EXPECT_EQ(record(), R"({"small": [5.0, 3.0]})");
}

}  // namespace
}  // namespace nodepool::driver
