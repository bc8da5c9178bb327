#include "telemetry/process_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <string>

#include "telemetry/process_metrics.h"
#include "telemetry/version.h"

namespace nodepool::telemetry {
namespace {

double value_of(const std::string& text, const std::string& name) {
  const std::size_t begin = text.find("\n" + name + " ");
  EXPECT_NE(begin, std::string::npos) << name;
  return begin == std::string::npos ? -1 : std::stod(text.substr(begin + name.size() + 2));
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TEST(ProcessFiguresTest, are_those_of_this_process) {
  MetricsRegistry registry;
  add_process_values(registry);
  const std::string text = "\n" + registry.prometheus_text();
  EXPECT_GE(value_of(text, "process_cpu_seconds_total"), 0);
  EXPECT_GT(value_of(text, "process_resident_memory_bytes"), 1e6);
  EXPECT_GE(value_of(text, "process_open_fds"), 3);
  EXPECT_GT(value_of(text, "process_max_fds"), 3);
  const double start = value_of(text, "process_start_time_seconds");
  EXPECT_GT(start, now() - 3600);
  EXPECT_LE(start, now() + 1);
  EXPECT_THAT(text, testing::HasSubstr("nodepool_build_info{version=\"" + std::string(version()) +
                                       "\"} 1\n"));
}

// The boot time in /proc/stat, which systemd's ProcSubset=pid hides, has whole seconds only.
TEST(ProcessFiguresTest, the_start_is_known_to_a_clock_tick) {
  constexpr double kTolerance = 0.02;
  const double before = now() - kTolerance;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const double start = process_start();
    ::_exit(start > before && start < now() + kTolerance ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ProcessFiguresTest, brief_durations_have_fine_buckets) {
  MetricsRegistry registry;
  registry.time(series<kLoopLag>(), std::chrono::microseconds(700));
  const std::string text = registry.prometheus_text();
  EXPECT_THAT(text, testing::HasSubstr("nodepool_loop_lag_seconds_bucket{le=\"0.0005\"} 0\n"));
  EXPECT_THAT(text, testing::HasSubstr("nodepool_loop_lag_seconds_bucket{le=\"0.001\"} 1\n"));
}

}  // namespace
}  // namespace nodepool::telemetry
