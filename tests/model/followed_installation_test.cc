#include "model/followed_installation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_store.h"
#include "coordination/tree.h"
#include "model/paths.h"

namespace nodepool::model {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FollowedInstallationTest : public testing::Test {
 protected:
  FollowedInstallationTest() {
    loop_.run(followed_.start());
    scope_.spawn("installation", followed_.run());
    settle();
  }
  ~FollowedInstallationTest() override { loop_.run(scope_.stop()); }

  void settle() {
    while (loop_.poll()) {
    }
  }

  void empty_store() {
    loop_.run(coordination::remove_tree(others_, "/nodepool"));
    settle();
  }

  void write(const std::string& record) {
    const std::string path(kInstallationPath);
    loop_.run(coordination::ensure_path(others_, path));
    loop_.run(others_.set(path, record, coordination::kAnyVersion));
    settle();
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  coordination::MemoryStore others_{server_, runtime_};
  std::vector<std::string> log_;
  FollowedInstallation followed_{
      runtime_, store_,
      telemetry::Logger(telemetry::Log::to_consumer(
                            [this](telemetry::LogLevel, std::string_view,
                                   std::string_view message) { log_.emplace_back(message); },
                            telemetry::LogLevel::warning),
                        "test")};
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(FollowedInstallationTest, a_store_that_stays_as_it_is_keeps_its_installation) {
  const Installation first = *followed_.current();
  EXPECT_FALSE(first.id.empty());
  store_.expire_for_tests();
  settle();
  EXPECT_EQ(*followed_.current(), first);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(FollowedInstallationTest, a_store_that_is_emptied_again_and_again_gets_few_installations) {
  for (int i = 0; i < 50; ++i) empty_store();
  EXPECT_THAT(log_, SizeIs(3));
  EXPECT_TRUE(loop_.run(find_installation(others_)).id.empty());
  clock_.advance_to(clock_.now() + std::chrono::seconds(2));
  settle();
  EXPECT_EQ(*followed_.current(), loop_.run(find_installation(others_)));
}

TEST_F(FollowedInstallationTest, a_store_that_was_emptied_is_another_installation) {
  const std::shared_ptr<const Installation> current = followed_.current();
  const Installation first = *current;
  empty_store();
  EXPECT_NE(current->id, first.id);
  EXPECT_EQ(*current, loop_.run(find_installation(others_)));
  ASSERT_THAT(log_, SizeIs(1));
  EXPECT_THAT(log_.front(), HasSubstr("has changed from " + first.id + " to "));
}

// Nodes created since then are of another daemon of the same installation.
TEST_F(FollowedInstallationTest, what_carries_no_id_is_not_its_own_then) {
  store_.suspend_for_tests();
  loop_.run(coordination::remove_tree(others_, "/nodepool"));
  loop_.run(coordination::ensure_path(others_, std::string(kNodesRoot)));
  loop_.run(others_.create(node_path(""), "{}", coordination::CreateMode::persistent_sequential));
  store_.resume_for_tests();
  settle();
  EXPECT_FALSE(followed_.current()->id.empty());
  EXPECT_FALSE(followed_.current()->was_taken_over());
}

TEST_F(FollowedInstallationTest, an_id_written_by_another_process_is_used) {
  write(R"({"id": "there", "first_node": 3})");
  EXPECT_EQ(*followed_.current(), (Installation{.id = "there", .first_node = 3}));
}

TEST_F(FollowedInstallationTest, the_old_store_may_come_back) {
  const Installation first = *followed_.current();
  const std::string record = loop_.run(others_.get(std::string(kInstallationPath))).data;
  empty_store();
  write(record);
  EXPECT_EQ(*followed_.current(), first);
}

TEST_F(FollowedInstallationTest, a_record_that_cannot_be_read_changes_nothing) {
  const Installation first = *followed_.current();
  write("no json");
  EXPECT_EQ(*followed_.current(), first);
  EXPECT_THAT(log_, SizeIs(1));
}

}  // namespace
}  // namespace nodepool::model
