#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "program/background.h"
#include "program/options.h"
#include "tests/support/child.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::program {
namespace {

using testing::HasSubstr;

const Program kProgram{"nodepool-launcher", "nodepool", "/var/run/nodepool/nodepool.pid"};

std::variant<Options, int> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "nodepool-launcher");
  return parse_options(kProgram, static_cast<int>(arguments.size()), arguments.data());
}

TEST(OptionsTest, the_defaults_are_those_of_the_python_nodepool) {
  const auto options = std::get<Options>(parse({}));
  EXPECT_EQ(options.config, "/etc/nodepool/nodepool.yaml");
  EXPECT_EQ(options.pid_file, "/var/run/nodepool/nodepool.pid");
  EXPECT_FALSE(options.foreground);
  EXPECT_FALSE(options.secure);
}

TEST(OptionsTest, paths_become_absolute_and_debug_stays_in_the_foreground) {
  const auto options = std::get<Options>(parse({"-d", "-c", "nodepool.yaml", "-s", "../x"}));
  EXPECT_TRUE(options.foreground);
  EXPECT_TRUE(options.debug);
  EXPECT_EQ(options.config, std::filesystem::current_path() / "nodepool.yaml");
  EXPECT_EQ(options.secure, std::filesystem::current_path().parent_path() / "x");
}

TEST(OptionsTest, old_start_scripts_keep_working) {
  EXPECT_FALSE(std::get<Options>(parse({"-f", "--no-webapp", "--repl"})).webapp);
  EXPECT_TRUE(std::get<Options>(parse({"-f"})).webapp);
}

TEST(OptionsTest, long_options_may_be_abbreviated_and_the_last_value_counts) {
  EXPECT_FALSE(std::get<Options>(parse({"--no-web"})).webapp);
  EXPECT_EQ(std::get<Options>(parse({"-c", "/one", "-d", "-c", "/two", "-d"})).config, "/two");
  int workers = 1;
  Program program = kProgram;
  program.add_options = [&workers](CLI::App& app) {
    app.add_option("--build-workers", workers);
    app.add_flag("--build-nothing");
  };
  const auto status_of = [&program](std::vector<const char*> words) {
    words.insert(words.begin(), "nodepool-builder");
    const auto parsed = parse_options(program, static_cast<int>(words.size()), words.data());
    return std::holds_alternative<int>(parsed) ? std::get<int>(parsed) : -1;
  };
  EXPECT_EQ(status_of({"--build-work", "2"}), -1);
  EXPECT_EQ(workers, 2);
  EXPECT_EQ(status_of({"--build-w=3"}), -1);
  EXPECT_EQ(workers, 3);
  testing::internal::CaptureStderr();
  EXPECT_EQ(status_of({"--build", "2"}), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("option --build is ambiguous: --build-workers or --build-nothing"));
}

TEST(OptionsTest, an_unknown_option_is_exit_status_2_and_help_is_0) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(std::get<int>(parse({"--frobnicate"})), 2);
  EXPECT_EQ(std::get<int>(parse({"-h"})), 0);
  EXPECT_EQ(std::get<int>(parse({"--version"})), 0);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_THAT(printed, HasSubstr("Nodepool version: "));
  EXPECT_THAT(printed, HasSubstr("--no-webapp  ")) << "the option, and nothing behind it";
  EXPECT_NE(testing::internal::GetCapturedStderr().find("--frobnicate"), std::string::npos);
}

class PidFileTest : public testing::Test {
 protected:
  PidFileTest() : path_(testing::TempDir() + "pid_file_" + std::to_string(::getpid())) {}
  ~PidFileTest() override { std::filesystem::remove(path_); }

  // Gets the file without a wait.
  void get() const { PidFile(path_, std::chrono::milliseconds(0), nullptr); }
  // What is waited for, until `on_waiting` is called, which has to end it.
  std::string get_after(const std::function<void()>& on_waiting) const {
    std::string reason;
    const PidFile file(path_, test_support::kPatience, [&](const std::string& what) {
      reason = what;
      on_waiting();
    });
    return reason;
  }
  pid_t named() const {
    pid_t pid = 0;
    std::ifstream(path_) >> pid;
    return pid;
  }

  std::string path_;
};

TEST_F(PidFileTest, holds_the_process_id_while_it_exists) {
  {
    PidFile file(path_, std::chrono::milliseconds(0), nullptr);
    file.write();
    EXPECT_EQ(named(), ::getpid());
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  get();
}

TEST_F(PidFileTest, of_two_daemons_that_start_at_the_same_moment_one_gets_it) {
  PidFile first(path_, std::chrono::milliseconds(0), nullptr);
  first.write();
  EXPECT_THROW(get(), std::runtime_error);
  EXPECT_EQ(named(), ::getpid()) << "the loser does not remove it";
}

// A daemon of Nodepool, by its name.
class PidFileOfDaemonTest : public PidFileTest {
 protected:
  PidFileOfDaemonTest() {
    const std::string program = directory_.path() / "nodepool-launcher";
    std::filesystem::create_symlink("/bin/sleep", program);
    daemon_.emplace(std::vector<std::string>{program, "1000"});
    std::ofstream(path_) << daemon_->pid() << '\n';
  }

  test_support::TemporaryDirectory directory_;
  std::optional<test_support::Child> daemon_;
};

TEST_F(PidFileOfDaemonTest, one_of_a_daemon_that_is_alive_is_not_free) {
  EXPECT_THROW(get(), std::runtime_error);
}

TEST_F(PidFileOfDaemonTest, the_end_of_the_previous_daemon_is_waited_for) {
  const std::string daemon = "process " + std::to_string(daemon_->pid());
  EXPECT_THAT(get_after([this] { daemon_.reset(); }), HasSubstr(daemon));
}

TEST_F(PidFileTest, so_is_one_that_has_not_written_its_process_id) {
  std::optional<PidFile> first(std::in_place, path_, std::chrono::milliseconds(0), nullptr);
  EXPECT_THAT(get_after([&first] { first.reset(); }), HasSubstr("another daemon is starting"));
}

TEST_F(PidFileTest, one_left_by_a_dead_process_is_free) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  std::ofstream(path_) << child << '\n';
  get();
}

TEST_F(PidFileTest, a_file_with_the_process_id_of_another_program_is_free) {
  const test_support::Child other({"sleep", "1000"});
  std::ofstream(path_) << other.pid() << '\n';
  get();
}

TEST_F(PidFileTest, a_full_disk_is_a_problem_and_no_reason_to_end) {
  std::filesystem::create_symlink("/dev/full", path_);
  PidFile file(path_, std::chrono::milliseconds(0), nullptr);
  file.write();
  EXPECT_THAT(file.problem(), HasSubstr("No space left on device"));
}

TEST_F(PidFileTest, a_place_that_cannot_be_written_is_a_clear_error) {
  EXPECT_THROW(PidFile("/proc/no/such/place", test_support::kPatience, nullptr),
               std::runtime_error);
}

TEST(DetachTest, the_process_goes_on_in_a_session_of_its_own) {
  const std::string path = testing::TempDir() + "detach_" + std::to_string(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    StartReport report = detach("daemon", test_support::kPatience);
    report.serving();
    std::ofstream(path + ".new") << ::getsid(0) << ' ' << ::getpid() << ' '
                                 << std::filesystem::current_path().string();
    std::filesystem::rename(path + ".new", path);
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  while (!std::filesystem::exists(path)) ::sched_yield();
  pid_t session = 0;
  pid_t pid = 0;
  std::string directory;
  std::ifstream(path) >> session >> pid >> directory;
  EXPECT_NE(session, ::getsid(0));
  EXPECT_NE(session, pid) << "no session leader: it can never get a terminal again";
  EXPECT_EQ(directory, "/");
  std::filesystem::remove(path);
}

// What the process that was started prints and exits with, when the one in the background does
// this.
std::pair<int, std::string> started(const std::function<void(StartReport&)>& act,
                                    std::chrono::milliseconds patience = test_support::kPatience) {
  testing::internal::CaptureStderr();
  const pid_t child = ::fork();
  if (child == 0) {
    StartReport report = detach("daemon", patience);
    act(report);
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return {WEXITSTATUS(status), testing::internal::GetCapturedStderr()};
}

TEST(StartReportTest, starting_a_daemon_reports_its_result) {
  using Result = std::pair<int, std::string>;
  EXPECT_EQ(started([](StartReport& report) { report.serving(); }), Result(0, ""));
  EXPECT_EQ(started([](StartReport& report) { report.failed("no such file"); }),
            Result(1, "daemon: no such file\n"));
  EXPECT_EQ(started([](StartReport& report) {
              report.waiting("waiting for the store");
              report.failed("too late to tell");
            }),
            Result(0, "daemon: waiting for the store\n"));
  EXPECT_EQ(started([](StartReport& /*report*/) {}),
            Result(1, "daemon: exited during its start; see its log\n"));
}

TEST(StartReportTest, starting_a_daemon_times_out) {
  int goes_on[2];
  ASSERT_EQ(::pipe(goes_on), 0);
  const auto start_slowly = [&goes_on](StartReport& report) {
    ::close(goes_on[1]);
    char nothing = 0;
    while (::read(goes_on[0], &nothing, 1) > 0) {
    }
    report.serving();
  };
  const auto [status, text] = started(start_slowly, std::chrono::milliseconds(20));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text, "daemon: still starting; see its log\n");
  ::close(goes_on[0]);
  ::close(goes_on[1]);
}

}  // namespace
}  // namespace nodepool::program
