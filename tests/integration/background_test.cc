// Daemons that go to the background: who starts them learns whether they serve.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/network.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::integration {
namespace {

namespace fs = std::filesystem;
using test_support::Completed;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class BackgroundTest : public testing::TestWithParam<const char*> {
 protected:
  BackgroundTest() {
    configure("store: sqlite://" + path("nodepool.db") + "\nimages-dir: " + path("images") + "\n");
    log_to(path("log"));
  }
  ~BackgroundTest() override {
    const pid_t pid = this->pid();
    if (pid > 0) ::kill(pid, SIGKILL);
  }

  std::string path(const std::string& name) const { return directory_.path() / name; }
  void configure(const std::string& text) { directory_.write("nodepool.yaml", text); }
  void log_to(const std::string& file) {
    directory_.write("logging.yaml",
                     "version: 1\nhandlers: {f: {class: logging.FileHandler, filename: " + file +
                         "}}\nroot: {level: INFO, handlers: [f]}\n");
  }

  std::vector<std::string> command(const std::string& pid_file) const {
    return {std::string(NODEPOOL_BINARIES) + "/" + GetParam(),
            "--no-webapp",
            "-c",
            path("nodepool.yaml"),
            "-l",
            path("logging.yaml"),
            "-p",
            pid_file};
  }
  Completed start(const std::string& pid_file) const {
    return test_support::run(command(pid_file));
  }
  Completed start() const { return start(path("pid")); }

  void expect_refused(const Completed& started, const std::string& reason) const {
    EXPECT_EQ(started.status, 1) << started.error;
    EXPECT_THAT(started.error, HasSubstr(std::string(GetParam()) + ": "));
    EXPECT_THAT(started.error, HasSubstr(reason));
    EXPECT_EQ(pid(), 0);
  }

  // Of the daemon; 0 if there is none.
  pid_t pid() const {
    pid_t pid = 0;
    std::ifstream(path("pid")) >> pid;
    return pid;
  }

  // Ends the daemon, and waits until its pid file is gone.
  void end() const {
    ::kill(pid(), SIGTERM);
    await([this] { return !fs::exists(path("pid")); });
  }

  static void await(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + test_support::kPatience;
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(condition());
  }

  test_support::TemporaryDirectory directory_;
};

TEST_P(BackgroundTest, it_serves_when_the_command_returns) {
  const Completed started = start();
  EXPECT_EQ(started.status, 0);
  EXPECT_EQ(started.error, "");
  EXPECT_THAT(test_support::read_file(path("log")), HasSubstr("Serving "));
  end();
}

TEST_P(BackgroundTest, a_start_waits_for_the_end_of_the_previous_daemon) {
  ASSERT_EQ(start().status, 0);
  const pid_t previous = pid();
  test_support::Child next(command(path("pid")));
  const std::string waiting = "already running as process " + std::to_string(previous) +
                              " (PID file " + path("pid") + "); waiting for its end";
  EXPECT_TRUE(next.error_output_shows(waiting, test_support::kPatience)) << next.standard_error();
  ::kill(previous, SIGTERM);
  if (next.wait() != 0) {  // on a busy machine, the end may take longer than it waits
    await([this] { return !fs::exists(path("pid")); });
    ASSERT_EQ(start().status, 0);
  }
  EXPECT_NE(pid(), previous);
  end();
}

TEST_P(BackgroundTest, it_keeps_no_descriptor_of_its_caller) {
  std::vector<std::string> shell = {"sh", "-c", "exec 7>\"$0\" <&-; \"$@\"", path("lock")};
  std::ranges::copy(command(path("pid")), std::back_inserter(shell));
  ASSERT_EQ(test_support::run(shell).status, 0);
  std::vector<std::string> open_files;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid()) + "/fd")) {
    std::error_code closed;  // meanwhile
    open_files.push_back(fs::read_symlink(entry.path(), closed));
  }
  EXPECT_THAT(open_files, Contains(fs::canonical(path("log"))));
  EXPECT_THAT(open_files, Not(Contains(fs::canonical(path("lock")))));
  end();
}

TEST_P(BackgroundTest, a_full_disk_loses_only_log_messages) {
  fs::create_symlink("/dev/full", path("log"));
  const Completed started = start();
  EXPECT_EQ(started.status, 0) << started.error;
  ::kill(pid(), SIGHUP);
  const auto status = [this] {
    return test_support::run({std::string(NODEPOOL_BINARIES) + "/nodepool", "-c",
                              path("nodepool.yaml"), "status"})
        .output;
  };
  const std::string trouble =
      "the log cannot be written: " + path("log") + ": No space left on device";
  await([&] { return status().contains(trouble); });
  fs::remove(path("log"));
  ::kill(pid(), SIGHUP);
  await([&] {
    return fs::exists(path("log")) &&
           test_support::read_file(path("log"))
               .contains("could not be written to this log: No space left on device");
  });
  await([&] { return !status().contains("the log cannot be written"); });
  end();
}

TEST_P(BackgroundTest, without_status_pages_it_listens_nowhere) {
  configure("store: sqlite://" + path("nodepool.db") + "\nimages-dir: " + path("images") +
            "\nwebapp: {port: 8005}\n");
  ASSERT_EQ(start().status, 0);
  const std::string process = "/proc/" + std::to_string(pid());
  std::string listening;
  for (const char* table : {"/net/tcp", "/net/tcp6", "/net/unix", "/net/udp", "/net/udp6"}) {
    listening += test_support::read_file(process + table);
  }
  for (const auto& entry : fs::directory_iterator(process + "/fd")) {
    std::error_code closed;  // meanwhile
    const std::string target = fs::read_symlink(entry.path(), closed);
    if (!target.starts_with("socket:[")) continue;
    const std::string inode = target.substr(8, target.size() - 9);
    EXPECT_THAT(listening, Not(HasSubstr(" " + inode + " "))) << target;
  }
  end();
}

TEST_P(BackgroundTest, errors_are_printed) {
  configure("labels: [{nam: a}]\n");
  expect_refused(start(), "nodepool.yaml:1");
  configure("store: sqlite:///proc/nowhere/nodepool.db\nimages-dir: " + path("images") + "\n");
  expect_refused(start(), "/proc/nowhere");
  log_to("/proc/nowhere/log");
  expect_refused(start(), "cannot write the log file /proc/nowhere/log");
  expect_refused(start("/proc/nowhere/pid"), "cannot write the PID file /proc/nowhere/pid");
}

TEST_P(BackgroundTest, a_store_that_is_away_is_waited_for_in_the_background) {
  const test_support::ReservedPort unused_port;
  configure("zookeeper-servers: [{host: 127.0.0.1, port: " + std::to_string(unused_port.number()) +
            "}]\nzookeeper-tls: {insecure-plaintext: true}\nimages-dir: " + path("images") + "\n");
  const Completed started = start();
  EXPECT_EQ(started.status, 0);
  EXPECT_THAT(started.error, HasSubstr("waiting for the store"));
  EXPECT_THAT(started.error, HasSubstr("127.0.0.1:" + std::to_string(unused_port.number())));
  // It takes up another store without a restart.
  configure("store: sqlite://" + path("nodepool.db") + "\nimages-dir: " + path("images") + "\n");
  await([this] { return test_support::read_file(path("log")).contains("Serving "); });
  end();
}

TEST_P(BackgroundTest, keys_that_change_while_it_waits_for_the_store_are_reported) {
  const test_support::ReservedPort unused_port;
  const auto configuration = [&](const std::string& port) {
    return "zookeeper-servers: [{host: 127.0.0.1, port: " + std::to_string(unused_port.number()) +
           "}]\nzookeeper-tls: {insecure-plaintext: true}\nimages-dir: " + path("images") +
           "\nwebapp: {port: " + port + "}\n";
  };
  configure(configuration("8005"));
  ASSERT_EQ(start().status, 0);
  configure(configuration("8006"));
  ::kill(pid(), SIGHUP);
  const auto log = [this] {
    std::ifstream file(path("log"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  await([&] { return log().contains("Configuration reloaded before the start"); });
  await([&] { return log().contains("Changed keys that wait for a restart: webapp"); });
  end();
}

TEST_P(BackgroundTest, a_reader_of_the_log_that_ends_does_not_end_the_daemon) {
  test_support::Child daemon(
      {"sh", "-c", "mkfifo \"$1\"; (: <\"$1\") & exec \"$2\" -f --no-webapp -c \"$3\" >\"$1\"",
       "sh", path("pipe"), std::string(NODEPOOL_BINARIES) + "/" + GetParam(),
       path("nodepool.yaml")});
  await([this] { return fs::exists(path("nodepool.db")); });
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0) << daemon.standard_error();
}

INSTANTIATE_TEST_SUITE_P(programs, BackgroundTest,
                         testing::Values("nodepool-launcher", "nodepool-builder"));

}  // namespace
}  // namespace nodepool::integration
