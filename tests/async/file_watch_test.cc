#include "async/file_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "async/clock.h"
#include "async/deadline.h"
#include "async/event_loop.h"
#include "tests/support/patience.h"

namespace nodepool::async {
namespace {

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest() : directory_(testing::TempDir() + "file_watch_" + std::to_string(::getpid())) {
    std::filesystem::create_directory(directory_);
  }
  ~FileWatchTest() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
  }
  // Throws DeadlineExceeded if no change is reported.
  void expect_change(FileWatch& watch) {
    loop_.run(
        with_deadline(clock_, clock_.now() + test_support::kPatience, watch.changed(), "a change"));
  }
  // Changes are reported at once, so a short time without a report is enough.
  void expect_silence(FileWatch& watch) {
    EXPECT_THROW(loop_.run(with_deadline(clock_, clock_.now() + std::chrono::milliseconds(50),
                                         watch.changed(), "a change")),
                 DeadlineExceeded);
  }

  EventLoop loop_;
  SystemClock clock_;
  std::filesystem::path directory_;
};

TEST_F(FileWatchTest, writing_without_closing_is_noticed_if_that_is_wanted) {
  std::ofstream growing(directory_ / "log");
  FileWatch watch(loop_.executor(), {directory_ / "log"}, FileWatch::Sees::every_write);
  growing << "one" << std::flush;
  expect_change(watch);
  growing << "two" << std::flush;
  expect_change(watch);
}

TEST_F(FileWatchTest, writing_replacing_and_creating_are_noticed) {
  write("a", "1");
  FileWatch watch(loop_.executor(), {directory_ / "a", directory_ / "later"});
  write("a", "2");
  expect_change(watch);
  write("b", "3");
  std::filesystem::rename(directory_ / "b", directory_ / "a");
  expect_change(watch);
  write("later", "4");
  expect_change(watch);
}

TEST_F(FileWatchTest, a_change_behind_a_link_is_noticed) {
  const std::filesystem::path elsewhere = directory_ / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::ofstream(elsewhere / "real") << "1";
  std::filesystem::create_symlink(elsewhere / "real", directory_ / "link");
  FileWatch watch(loop_.executor(), {directory_ / "link"});
  std::ofstream(elsewhere / "real") << "2";
  expect_change(watch);
}

TEST_F(FileWatchTest, a_link_on_the_way_that_leads_elsewhere_is_noticed) {
  // Like git-sync and mounted ConfigMaps: the file's directory is a symbolic link that is replaced.
  for (const char* revision : {"one", "two"}) {
    std::filesystem::create_directories(directory_ / revision / "etc");
    write(std::string(revision) + "/etc/a", revision);
  }
  std::filesystem::create_symlink("one", directory_ / "current");
  FileWatch watch(loop_.executor(), {directory_ / "current" / "etc" / "a"});
  std::filesystem::create_symlink("two", directory_ / "next");
  std::filesystem::rename(directory_ / "next", directory_ / "current");
  expect_change(watch);
  write("two/etc/a", "changed");
  expect_change(watch);
}

TEST_F(FileWatchTest, a_directory_that_is_replaced_is_noticed_and_followed) {
  std::filesystem::create_directory(directory_ / "etc");
  write("etc/a", "1");
  FileWatch watch(loop_.executor(), {directory_ / "etc" / "a"});
  std::filesystem::rename(directory_ / "etc", directory_ / "old");
  expect_change(watch);
  std::filesystem::create_directory(directory_ / "etc");
  expect_change(watch);
  write("etc/a", "2");
  expect_change(watch);
}

TEST_F(FileWatchTest, a_path_that_comes_into_being_is_noticed) {
  FileWatch watch(loop_.executor(), {directory_ / "no" / "such" / "file"});
  std::filesystem::create_directory(directory_ / "no");
  expect_change(watch);
  std::filesystem::create_directory(directory_ / "no" / "such");
  expect_change(watch);
  write("no/such/file", "1");
  expect_change(watch);
}

TEST_F(FileWatchTest, other_files_of_the_directory_are_ignored) {
  write("a", "1");
  FileWatch watch(loop_.executor(), {directory_ / "a"});
  write("b", "1");
  std::filesystem::rename(directory_ / "b", directory_ / "c");
  expect_silence(watch);
  write("a", "2");
  expect_change(watch);
}

TEST_F(FileWatchTest, links_in_a_circle_lead_nowhere) {
  std::filesystem::create_symlink("b", directory_ / "a");
  std::filesystem::create_symlink("a", directory_ / "b");
  FileWatch watch(loop_.executor(), {directory_ / "a"});
  std::filesystem::remove(directory_ / "b");
  expect_change(watch);
}

TEST_F(FileWatchTest, the_paths_can_be_others_later) {
  FileWatch watch(loop_.executor(), {directory_ / "a"});
  watch.follow({directory_ / "b"});
  write("a", "1");
  write("b", "1");
  expect_change(watch);
  expect_silence(watch);
}

}  // namespace
}  // namespace nodepool::async
