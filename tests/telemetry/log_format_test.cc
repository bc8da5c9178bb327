#include "telemetry/log_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>

namespace nodepool::telemetry {
namespace {

class LogFormatTest : public testing::Test {
 protected:
  LogFormatTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  ~LogFormatTest() override {
    ::unsetenv("TZ");
    ::tzset();
  }

  // The message "hello", of 2023-11-17 12:00:00.007 UTC.
  static std::string rendered(LogFormatOptions options, std::string_view message = "hello") {
    const auto time =
        std::chrono::system_clock::from_time_t(1'700'222'400) + std::chrono::milliseconds(7);
    return LogFormat(options).render({LogLevel::info, time, "nodepool.x", message}, "");
  }
  static std::string rendered(const std::string& format, char style = '%') {
    return rendered({.format = format, .style = style});
  }
};

TEST_F(LogFormatTest, the_usual_line_is_the_python_nodepools) {
  EXPECT_EQ(rendered(LogFormatOptions{}), "2023-11-17 12:00:00,007 INFO nodepool.x: hello\n");
}

TEST_F(LogFormatTest, fields_have_widths_and_types) {
  EXPECT_EQ(rendered("%(levelname)-6s|%(levelname)6s|%(name).4s|%(levelno)04d"),
            "INFO  |  INFO|node|0020\n");
  EXPECT_EQ(rendered("%(created)f %(created).1f %(msecs)03d %(levelno)s"),
            "1700222400.007000 1700222400.0 007 20\n");
}

TEST_F(LogFormatTest, other_styles_are_understood) {
  EXPECT_EQ(rendered("{levelname:<6}|{levelname:6}|{levelname:>6}|{levelno:4}|{msecs:05.1f}", '{'),
            "INFO  |INFO  |  INFO|  20|007.0\n");
  EXPECT_EQ(rendered("${levelname}: $message", '$'), "INFO: hello\n");
}

TEST_F(LogFormatTest, what_is_not_a_field_is_text) {
  EXPECT_EQ(rendered("100%% 5% {name} $name %(message)s %(name"),
            "100% 5% {name} $name hello %(name\n");
  EXPECT_EQ(rendered("%(a)s{{}} {", '{'), "%(a)s{} {\n");
  EXPECT_EQ(rendered("$$ $ ${name", '$'), "$ $ ${name\n");
}

TEST_F(LogFormatTest, fields_without_a_meaning_are_constant) {
  EXPECT_EQ(rendered("%(module)s %(lineno)d %(funcName)s %(threadName)s %(request)s."),
            "nodepool 0  MainThread .\n");
  EXPECT_EQ(rendered("%(process)d"), std::to_string(::getpid()) + "\n");
}

TEST_F(LogFormatTest, dates_have_their_own_format) {
  EXPECT_EQ(rendered({.format = "%(asctime)s %(message)s", .date_format = "%d.%m. %H:%M"}),
            "17.11. 12:00 hello\n");
}

TEST_F(LogFormatTest, each_message_has_its_own_date) {
  LogFormat format({.format = "%(asctime)s"});
  const auto rendered_at = [&format](int milliseconds) {
    const auto time = std::chrono::system_clock::from_time_t(1'700'222'400) +
                      std::chrono::milliseconds(milliseconds);
    return format.render({.time = time}, "");
  };
  EXPECT_EQ(rendered_at(7), "2023-11-17 12:00:00,007\n");
  EXPECT_EQ(rendered_at(999), "2023-11-17 12:00:00,999\n");
  EXPECT_EQ(rendered_at(1000), "2023-11-17 12:00:01,000\n");
  EXPECT_EQ(rendered_at(7), "2023-11-17 12:00:00,007\n");
}

TEST_F(LogFormatTest, further_lines_repeat_the_format) {
  EXPECT_EQ(rendered({.format = "%(levelname)s %(message)s."}, "one\ntwo"),
            "INFO one.\nINFO   two.\n");
}

TEST_F(LogFormatTest, a_field_ends_at_a_whole_character) {
  EXPECT_EQ(rendered({.format = "%(message).2s"}, "a\u00e9"), "a\n");
}

TEST_F(LogFormatTest, json_has_the_fields_of_the_format) {
  EXPECT_EQ(rendered({.format = "%(asctime)s %(levelname)s %(levelno)d %(message)s",
                      .date_format = "%H:%M",
                      .is_json = true},
                     "\"a\"\nb"),
            R"({"asctime":"12:00","levelname":"INFO","levelno":20,"message":"\"a\"\nb"})"
            "\n");
}

}  // namespace
}  // namespace nodepool::telemetry
