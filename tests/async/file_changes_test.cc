// Tests that changes of files are also found without the kernel's reports.

#include "async/file_changes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "async/deadline.h"
#include "async/event_loop.h"
#include "async/task_scope.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/patience.h"

namespace nodepool::async {
namespace {

class FileChangesTest : public testing::Test {
 protected:
  FileChangesTest()
      : directory_(testing::TempDir() + "file_changes_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(directory_ / "elsewhere");
    write("a", "1");
  }
  ~FileChangesTest() override {
    loop_.run(scope_.stop());
    std::filesystem::remove_all(directory_);
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
  }

  static Task<> count(FileChanges& changes, int& changed) {
    while (true) {
      co_await changes.changed();
      ++changed;
    }
  }

  void pass(Duration time) {
    clock_.advance_by(time);
    settle();
  }
  void settle() {
    while (loop_.poll()) {
    }
  }

  EventLoop loop_;
  VirtualClock clock_;
  Random random_{1};
  Runtime runtime_{loop_.executor(), clock_, random_};
  std::filesystem::path directory_;
  std::optional<FileChanges> changes_;
  int changed_ = 0;
  TaskScope scope_{runtime_,
                   [](const std::string&, const std::string& error) { ADD_FAILURE() << error; }};
};

TEST_F(FileChangesTest, a_change_that_the_kernel_reports_is_noticed_at_once) {
  FileChanges changes(runtime_, {directory_ / "a"});
  write("a", "2");
  SystemClock clock;
  loop_.run(
      with_deadline(clock, clock.now() + test_support::kPatience, changes.changed(), "a change"));
}

TEST_F(FileChangesTest, any_other_change_is_noticed_at_the_next_poll) {
  std::filesystem::create_hard_link(directory_ / "a", directory_ / "elsewhere" / "b");
  changes_.emplace(runtime_, std::vector<std::string>{directory_ / "a"});
  scope_.spawn("changes", count(*changes_, changed_));
  settle();
  write("elsewhere/b", "22");
  settle();
  EXPECT_EQ(changed_, 0);
  pass(FileChanges::kPoll);
  EXPECT_EQ(changed_, 1);
  pass(FileChanges::kPoll);
  EXPECT_EQ(changed_, 1);
}

#if !__has_feature(address_sanitizer)
TEST_F(FileChangesTest, a_process_without_descriptors_polls) {
  {
    const test_support::NoDescriptors none;
    changes_.emplace(runtime_, std::vector<std::string>{directory_ / "a"});
  }
  scope_.spawn("changes", count(*changes_, changed_));
  settle();
  write("a", "22");
  pass(FileChanges::kPoll);
  EXPECT_EQ(changed_, 1);
  std::filesystem::remove(directory_ / "a");
  pass(FileChanges::kPoll);
  EXPECT_EQ(changed_, 2);
}
#endif

TEST_F(FileChangesTest, another_file_of_the_same_size_and_time_has_another_stamp) {
  const std::string path = directory_ / "a";
  EXPECT_FALSE(stamp(directory_ / "b").exists);
  const FileStamp first = stamp(path);
  EXPECT_EQ(first, stamp(path));
  write("b", "2");
  std::filesystem::last_write_time(directory_ / "b", std::filesystem::last_write_time(path));
  std::filesystem::rename(directory_ / "b", path);
  EXPECT_FALSE(first == stamp(path));
}

TEST_F(FileChangesTest, a_file_that_may_be_read_now_has_another_stamp) {
  namespace fs = std::filesystem;
  const FileStamp first = stamp(directory_ / "a");
  // The kernel's file times advance in ticks.
  do {
    fs::permissions(directory_ / "a", fs::perms::owner_write);
    fs::permissions(directory_ / "a", fs::perms::owner_read | fs::perms::owner_write);
  } while (stamp(directory_ / "a") == first);
  EXPECT_EQ(stamp(directory_ / "a").modified, first.modified);
}

}  // namespace
}  // namespace nodepool::async
