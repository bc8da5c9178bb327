#include "async/file_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "async/clock.h"
#include "async/deadline.h"
#include "async/event_loop.h"

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
  // Throws DeadlineExceeded if nothing is noticed.
  void expect_change(FileWatch& watch) {
    loop_.run(with_deadline(clock_, clock_.now() + std::chrono::seconds(20), watch.changed(),
                            "a change"));
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
  expect_change(watch);
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

TEST_F(FileWatchTest, a_missing_directory_is_an_error) {
  EXPECT_THROW(FileWatch(loop_.executor(), {directory_ / "no" / "file"}), std::system_error);
}

}  // namespace
}  // namespace nodepool::async
