#include "launcher/pool_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

class PoolWorkerTest : public LauncherFixture {
 protected:
  // Since log_ was cleared.
  std::size_t decisions() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        log_, [](const std::string& line) { return line.contains("Waiting: "); }));
  }
};

TEST_F(PoolWorkerTest, other_tasks_run_while_a_backlog_is_decided) {
  constexpr std::size_t kBacklog = 350;
  constexpr int kMostSteps = 10'000;
  log_level_ = telemetry::LogLevel::debug;
  start(kOneHost);
  accept(request({"small"}));
  for (std::size_t i = 0; i < kBacklog; ++i) post_request({"small"});
  settle();
  log_.clear();
  begin_to_reconfigure(kOneHost);  // all are decided again
  std::size_t decided = 0;
  std::size_t most_in_one_turn = 0;
  for (int i = 0; i < kMostSteps && decided < kBacklog; ++i) {
    step();
    most_in_one_turn = std::max(most_in_one_turn, decisions() - decided);
    decided = decisions();
  }
  EXPECT_GE(decided, kBacklog);
  EXPECT_LE(most_in_one_turn, 100U);
}

}  // namespace
}  // namespace nodepool::launcher
