#include "telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace nodepool::telemetry {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

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
  std::shared_ptr<Log> open() {
    LogOptions options;
    options.target = LogOptions::Target::file;
    options.file = path_;
    options.levels = {
        {"", LogLevel::off}, {"nodepool", LogLevel::info}, {"nodepool.launcher", LogLevel::debug}};
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

TEST_F(LogFileTest, nobody_steers_the_terminal_of_who_reads_it) {
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

TEST(LogLevelTest, python_names_are_understood) {
  EXPECT_EQ(parse_log_level("WARN"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("Debug"), LogLevel::debug);
  EXPECT_EQ(parse_log_level("loud"), std::nullopt);
}

}  // namespace
}  // namespace nodepool::telemetry
