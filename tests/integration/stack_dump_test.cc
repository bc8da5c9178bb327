#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/installation.h"

namespace nodepool::integration {
namespace {

using testing::HasSubstr;

TEST(StackDumpTest, sigusr2_shows_threads_and_tasks_and_the_launcher_goes_on) {
  Installation site;
  site.configure(
      "  - name: rack\n    driver: static\n    pools:\n      - name: main\n        nodes: []\n");
  site.start_launcher();
  site.wait_until("serving", [&site] { return site.log().contains("Serving 1 pool(s)"); });
  site.signal_launcher(SIGUSR2);
  site.wait_until("the dump", [&site] { return site.log().contains("task(s)"); });

  const std::string log = site.log();
  EXPECT_THAT(log, HasSubstr("INFO nodepool.stack_dump: "));
  EXPECT_THAT(log, HasSubstr("thread(s)"));
  EXPECT_THAT(log, HasSubstr("Thread \"nodepool-launch\" ("));
  EXPECT_THAT(log, HasSubstr("Thread \"blocking calls\" ("));
  EXPECT_THAT(log, HasSubstr("Thread \"store\" ("));
  EXPECT_THAT(log, HasSubstr("nodepool::async::EventLoop::run"));
  EXPECT_THAT(log, HasSubstr("Task \"PoolWorker rack-main\""));
  EXPECT_THAT(log, HasSubstr("event: a request, node or pool changed"));
  EXPECT_THAT(log, HasSubstr("Task \"main\""));
  EXPECT_EQ(site.stop_launcher(SIGTERM), 0);
}

}  // namespace
}  // namespace nodepool::integration
