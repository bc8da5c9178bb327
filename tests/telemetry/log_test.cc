#include "telemetry/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "telemetry/log_errors.h"

namespace nodepool::telemetry {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;

class LogFileTest : public testing::Test {
 protected:
  LogFileTest() : path_(testing::TempDir() + "log_test_" + std::to_string(::getpid())) {
    std::filesystem::remove(path_);
  }
  ~LogFileTest() override { std::filesystem::remove(path_); }

  static std::vector<std::string> lines(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> result;
    for (std::string line; std::getline(file, line);) result.push_back(line);
    return result;
  }
  static LogTargetOptions file_target(std::string path, LogLevel level = LogLevel::debug) {
    LogTargetOptions target;
    target.kind = LogTargetOptions::Kind::file;
    target.file = std::move(path);
    target.level = level;
    return target;
  }
  // Of this second after noon of 2023-11-17.
  static LogRecord record(std::string_view message, std::time_t second) {
    return {LogLevel::info, std::chrono::system_clock::from_time_t(1'700'222'400 + second),
            "nodepool", message};
  }
  std::shared_ptr<Log> open() {
    LogOptions options;
    options.targets = {file_target(path_)};
    options.routes = {{"", {.level = LogLevel::off}},
                      {"nodepool", {.level = LogLevel::info}},
                      {"nodepool.launcher", {.level = LogLevel::debug}}};
    return std::make_shared<Log>(options);
  }

  std::string path_;
};

TEST_F(LogFileTest, lines_have_time_level_name_and_ids) {
  const Logger logger(open(), "nodepool.PoolWorker.rack-main");
  logger.about("e1", "200-0000000001", "0000000007").info("{} nodes\nsecond line", 2);
  const std::string begin =
      "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9],[0-9][0-9][0-9] "
      "INFO nodepool.PoolWorker.rack-main: ";
  EXPECT_THAT(lines(path_),
              ElementsAre(MatchesRegex(begin + "\\[e: e1\\] \\[node_request: 200-0000000001\\] "
                                               "\\[node: 0000000007\\] 2 nodes"),
                          MatchesRegex(begin + "  second line")));
}

TEST_F(LogFileTest, control_characters_are_escaped_in_the_log) {
  const Logger logger(open(), "nodepool");
  logger.info("refused: {}", "\x1b[2Jfine\r");
  EXPECT_THAT(lines(path_), ElementsAre(testing::HasSubstr(R"(refused: \x1b[2Jfine\x0d)")));
}

TEST_F(LogFileTest, the_longest_prefix_decides_the_level) {
  const auto log = open();
  EXPECT_FALSE(log->enabled("other", LogLevel::critical));
  EXPECT_FALSE(log->enabled("nodepool.builder", LogLevel::debug));
  EXPECT_TRUE(log->enabled("nodepool.builder", LogLevel::info));
  EXPECT_TRUE(log->enabled("nodepool.launcher.cleanup", LogLevel::debug));
  EXPECT_FALSE(log->enabled("nodepool.launchers", LogLevel::debug));
}

TEST_F(LogFileTest, a_rotated_file_is_replaced_by_a_new_one) {
  const Logger logger(open(), "nodepool");
  logger.info("first");
  const std::string rotated = path_ + ".1";
  std::filesystem::rename(path_, rotated);
  logger.info("second");
  EXPECT_EQ(lines(rotated).size(), 1U);
  EXPECT_EQ(lines(path_).size(), 1U);
  std::filesystem::remove(rotated);
}

TEST_F(LogFileTest, a_file_that_cannot_be_opened_is_a_clear_error) {
  path_ = "/proc/no-such-directory/log";
  try {
    open();
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cannot write the log file " + path_));
  }
}

// A full disk, and one with space again.
class FullDiskTest : public LogFileTest {
 protected:
  FullDiskTest() { std::filesystem::create_symlink("/dev/full", path_); }
  void free_space() { std::filesystem::remove(path_); }
};

TEST_F(FullDiskTest, lost_messages_are_counted_and_logged_when_there_is_space) {
  const std::shared_ptr<Log> log = open();
  const Logger logger(log, "nodepool");
  logger.info("one");
  logger.error("two");
  EXPECT_EQ(log->losses().messages, 2U);
  EXPECT_THAT(log->losses().trouble, HasSubstr("No space left on device"));
  free_space();
  logger.info("three");
  logger.info("four");
  EXPECT_THAT(lines(path_), ElementsAre(EndsWith("WARNING nodepool.log: 2 message(s) could not be "
                                                 "written to this log: No space left on device"),
                                        EndsWith("three"), EndsWith("four")));
  EXPECT_EQ(log->losses().messages, 2U);
  EXPECT_EQ(log->losses().trouble, "");
}

TEST_F(FullDiskTest, a_file_that_cannot_be_made_anew_loses_what_is_written_meanwhile) {
  free_space();
  LogTarget target(file_target(path_));
  target.write(record("one", 0));
  std::filesystem::rename(path_, path_ + ".1");
  std::filesystem::create_directory(path_);
  target.write(record("two", 0));
  EXPECT_EQ(target.losses().messages, 1U);
  std::filesystem::remove(path_);
  target.write(record("three", 1));
  EXPECT_THAT(lines(path_), ElementsAre(HasSubstr("1 message(s) could not be written to this log"),
                                        EndsWith("three")));
  std::filesystem::remove(path_ + ".1");
}

TEST_F(FullDiskTest, a_retry_notices_that_there_is_space_again) {
  const std::shared_ptr<Log> log = open();
  Logger(log, "nodepool").info("one");
  log->retry();
  EXPECT_THAT(log->losses().trouble, HasSubstr("No space left on device"));
  free_space();
  log->retry();
  EXPECT_EQ(log->losses().trouble, "");
  log->retry();
  EXPECT_THAT(lines(path_), ElementsAre(HasSubstr("1 message(s) could not be written")));
  EXPECT_EQ(log->losses().messages, 1U);
}

TEST_F(LogFileTest, a_retry_notices_that_a_file_can_be_opened) {
  std::filesystem::create_directory(path_);
  LogTarget target(file_target(path_));
  target.retry(record("", 0).time);
  EXPECT_NE(target.losses().trouble, "");
  std::filesystem::remove(path_);
  target.retry(record("", 1).time);
  EXPECT_EQ(target.losses().trouble, "");
  EXPECT_EQ(target.losses().messages, 0U);
}

// A write that is cut short because the disk is full.
TEST_F(LogFileTest, a_torn_line_ends_before_the_next_one) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 60, .rlim_max = RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Logger logger(open(), "nodepool");
    logger.info("a message for which there is only half of the room that it would take");
    const rlimit more{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &more);
    logger.info("whole");
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_THAT(lines(path_),
              ElementsAre(testing::SizeIs(60), HasSubstr("1 message(s)"), EndsWith("whole")));
}

// What a process logs to its standard error, a file. JOURNAL_STREAM names this file or another one.
class JournalTest : public LogFileTest {
 protected:
  std::vector<std::string> logged(bool is_journal) {
    const pid_t child = ::fork();
    if (child == 0) {
      const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(file, STDERR_FILENO);
      struct ::stat status{};
      ::fstat(file, &status);
      const std::string inode = std::to_string(status.st_ino + (is_journal ? 0 : 1));
      ::setenv("JOURNAL_STREAM", (std::to_string(status.st_dev) + ":" + inode).c_str(), 1);
      LogOptions options;
      options.routes[""].level = LogLevel::debug;
      const Logger logger(std::make_shared<Log>(options), "nodepool");
      logger.debug("1");
      logger.info("2\n3");
      logger.warning("4");
      logger.error("5");
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    return lines(path_);
  }
};

TEST_F(JournalTest, each_line_has_its_priority) {
  EXPECT_THAT(logged(true), ElementsAre(StartsWith("<7>2"), StartsWith("<6>2"), StartsWith("<6>2"),
                                        StartsWith("<4>2"), StartsWith("<3>2")));
}

TEST_F(JournalTest, other_streams_have_no_priorities) {
  EXPECT_THAT(logged(false), AllOf(SizeIs(5), Each(StartsWith("2"))));
}

TEST(LogErrorsTest, the_error_of_a_task_is_logged_with_its_name) {
  std::vector<std::string> messages;
  const auto consume = [&](LogLevel level, std::string_view logger, std::string_view message) {
    EXPECT_EQ(level, LogLevel::error);
    messages.push_back(std::string(logger) + " " + std::string(message));
  };
  log_errors(Logger(Log::to_consumer(consume), "nodepool.x"))("a task", "it failed {}");
  EXPECT_THAT(messages, ElementsAre("nodepool.x a task: it failed {}"));
}

// A file with debug messages, another one from warnings on.
class TargetsTest : public LogFileTest {
 protected:
  ~TargetsTest() override { std::filesystem::remove(warnings()); }
  std::string warnings() const { return path_ + "_warnings"; }
  std::shared_ptr<Log> open_both() {
    LogOptions options;
    options.targets = {file_target(warnings(), LogLevel::warning), file_target(path_)};
    options.routes = {{"", {.level = LogLevel::debug, .targets = {0, 1}}},
                      {"nodepool.quiet", {.level = LogLevel::debug, .targets = {0}}}};
    return std::make_shared<Log>(options);
  }
};

TEST_F(TargetsTest, each_target_takes_messages_from_its_level_on) {
  const std::shared_ptr<Log> log = open_both();
  const Logger logger(log, "nodepool");
  logger.debug("one");
  logger.warning("two");
  EXPECT_THAT(lines(path_), ElementsAre(EndsWith("one"), EndsWith("two")));
  EXPECT_THAT(lines(warnings()), ElementsAre(EndsWith("two")));
  EXPECT_FALSE(log->enabled("nodepool.quiet", LogLevel::info));
}

TEST_F(TargetsTest, a_requested_message_is_written_although_no_target_takes_its_level) {
  const std::shared_ptr<Log> log = open_both();
  Logger(log, "nodepool").requested("one");
  Logger(log, "nodepool.quiet").requested("two");
  EXPECT_THAT(lines(path_), ElementsAre(EndsWith("one")));
  EXPECT_THAT(lines(warnings()), ElementsAre(EndsWith("two")));
}

TEST_F(TargetsTest, a_target_that_fails_does_not_silence_others) {
  std::filesystem::create_symlink("/dev/full", warnings());
  const std::shared_ptr<Log> log = open_both();
  const Logger logger(log, "nodepool");
  logger.warning("one");
  logger.warning("two");
  EXPECT_THAT(lines(path_), ElementsAre(EndsWith("one"), EndsWith("two")));
  EXPECT_EQ(log->losses().messages, 2U);
  EXPECT_EQ(log->losses().trouble, warnings() + ": No space left on device");
  std::filesystem::remove(warnings());
  logger.warning("three");
  EXPECT_THAT(lines(warnings()), ElementsAre(HasSubstr("2 message(s)"), EndsWith("three")));
  EXPECT_EQ(log->losses().trouble, "");
}

TEST_F(TargetsTest, a_file_that_cannot_be_opened_is_a_trouble_while_another_target_works) {
  LogOptions options;
  options.targets = {file_target("/proc/no-such-directory/log"), file_target(path_)};
  options.routes = {{"", {.targets = {0, 1}}}};
  const std::shared_ptr<Log> log = std::make_shared<Log>(options);
  EXPECT_THAT(log->losses().trouble, StartsWith("/proc/no-such-directory/log: "));
  Logger(log, "nodepool").info("one");
  EXPECT_THAT(lines(path_), ElementsAre(EndsWith("one")));
  options.routes["nodepool.audit"] = {.targets = {0}};
  EXPECT_THROW(Log{options}, std::runtime_error) << "a logger would have no file";
}

TEST_F(TargetsTest, a_stream_does_not_replace_a_file_that_cannot_be_opened) {
  LogOptions options;
  options.targets = {{}, file_target("/proc/no-such-directory/log")};
  options.routes = {{"", {.targets = {0, 1}}}};
  EXPECT_THROW(Log{options}, std::runtime_error);
}

TEST_F(TargetsTest, a_target_to_which_no_logger_refers_is_not_opened) {
  LogOptions options;
  options.targets = {file_target(warnings()), file_target(path_)};
  options.routes = {{"", {.targets = {1}}}};
  Logger(std::make_shared<Log>(options), "nodepool").info("one");
  EXPECT_FALSE(std::filesystem::exists(warnings()));
  EXPECT_THAT(lines(path_), ElementsAre(EndsWith("one")));
}

TEST(LogLevelTest, python_numbers_are_understood) {
  EXPECT_EQ(log_level_from(-1), LogLevel::debug);
  EXPECT_EQ(log_level_from(10), LogLevel::debug);
  EXPECT_EQ(log_level_from(11), LogLevel::info);
  EXPECT_EQ(log_level_from(30), LogLevel::warning);
  EXPECT_EQ(log_level_from(50), LogLevel::critical);
  EXPECT_EQ(log_level_from(51), LogLevel::off);
  EXPECT_EQ(log_level_from(1'000'000), LogLevel::off);
}

TEST(LogLevelTest, python_names_are_understood) {
  EXPECT_EQ(parse_log_level("WARN"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("Debug"), LogLevel::debug);
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

}  // namespace
}  // namespace nodepool::telemetry
