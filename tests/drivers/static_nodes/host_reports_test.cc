#include "drivers/static_nodes/host_reports.h"

#include <gmock/gmock.h>

#include "async/event_loop.h"
#include "coordination/faulty/faulty_store.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "model/paths.h"

namespace nodepool::drivers::static_nodes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HostReportsTest : public testing::Test {
 protected:
  ~HostReportsTest() override { loop_.run(reports_.stop()); }

  void settle() {
    while (loop_.poll()) {
    }
  }
  void pass(async::Duration duration) {
    clock_.advance_to(clock_.now() + duration);
    settle();
  }
  void report(const std::string& host, const std::string& problem) {
    model::HostReport report;
    report.host = host;
    report.problem = problem;
    reports_.report({host, "ci", 22}, std::move(report));
    settle();
  }
  // What the commands are told.
  std::vector<std::string> problems() {
    std::vector<std::string> problems;
    for (const auto& report : loop_.run(model::read_host_reports(inner_))) {
      problems.push_back(report.host + ": " + report.problem);
    }
    return problems;
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore inner_{server_, runtime_};
  coordination::FaultyStore store_{inner_, runtime_, {}, 1};
  HostReports reports_{
      runtime_, store_,
      telemetry::Logger(telemetry::Log::to_consumer(
                            [](telemetry::LogLevel, std::string_view, std::string_view) {},
                            telemetry::LogLevel::error),
                        "test")};
};

TEST_F(HostReportsTest, there_is_a_record_while_a_host_is_unhealthy) {
  reports_.start();
  EXPECT_THAT(problems(), IsEmpty());
  report("b", "refused");
  report("a", "no answer");
  EXPECT_THAT(problems(), ElementsAre("a: no answer", "b: refused"));
  report("b", "wrong key");
  EXPECT_THAT(problems(), ElementsAre("a: no answer", "b: wrong key"));
  reports_.clear({"a", "ci", 22});
  reports_.clear({"never-reported", "ci", 22});
  settle();
  EXPECT_THAT(problems(), ElementsAre("b: wrong key"));
  loop_.run(reports_.stop());
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HostReportsTest, unchanged_reports_are_not_written) {
  reports_.start();
  settle();
  EXPECT_FALSE(loop_.run(inner_.exists(std::string(model::kHostsRoot))));
  report("a", "refused");
  const auto zxid = [this] { return loop_.run(inner_.set("/nodepool", "", -1)).mzxid; };
  const auto before = zxid();
  report("a", "refused");
  EXPECT_EQ(zxid() - before, 1);
}

TEST_F(HostReportsTest, they_are_written_again_when_the_session_is_lost) {
  reports_.start();
  report("a", "refused");
  inner_.expire_for_tests();
  settle();
  EXPECT_THAT(problems(), ElementsAre("a: refused"));
}

TEST_F(HostReportsTest, a_lost_answer_leaves_no_second_record_and_none_behind) {
  reports_.start();
  store_.set_plan({.lost_answer = 1});
  report("a", "refused");
  store_.set_plan({});
  pass(std::chrono::seconds(5));
  EXPECT_THAT(problems(), ElementsAre("a: refused"));
  store_.set_plan({.lost_answer = 1});
  report("a", "no answer");
  reports_.clear({"a", "ci", 22});
  settle();
  store_.set_plan({});
  pass(std::chrono::seconds(5));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(HostReportsTest, a_store_out_of_reach_is_written_later) {
  reports_.start();
  store_.set_plan({.disconnected = 1});
  report("a", "refused");
  EXPECT_THAT(problems(), IsEmpty());
  store_.set_plan({});
  pass(std::chrono::seconds(5));
  EXPECT_THAT(problems(), ElementsAre("a: refused"));
}

}  // namespace
}  // namespace nodepool::drivers::static_nodes
