#include "gearman/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>

#include "async/event.h"
#include "async/event_loop.h"
#include "tests/support/child.h"
#include "tests/support/gearman_client.h"
#include "tests/support/gearmand.h"
#include "tests/support/patience.h"

namespace nodepool::gearman {
namespace {

using async::Task;
using std::chrono::milliseconds;
using test_support::Child;
using test_support::GearmanClient;
using test_support::Gearmand;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class GearmanWorkerTest : public testing::Test {
 protected:
  ~GearmanWorkerTest() override {
    release_.set();
    for (const auto& worker : workers_) {
      if (worker) loop_.run(worker->stop());
    }
  }

  struct Pauses {
    milliseconds first;
    milliseconds longest;
  };

  GearmanWorker& worker(Connection::Functions functions, GearmanWorker::Handler handler,
                        std::size_t jobs = 2,
                        Pauses pauses = {milliseconds(10), milliseconds(50)}) {
    const auto log = telemetry::Log::to_consumer(
        [this](telemetry::LogLevel, std::string_view, std::string_view message) {
          log_ += std::string(message) + "\n";
        });
    const GearmanWorker::Options options{.jobs = {{"", jobs}},
                                         .first_pause = pauses.first,
                                         .longest_pause = pauses.longest,
                                         .heartbeat = milliseconds(20)};
    workers_.push_back(std::make_unique<GearmanWorker>(
        runtime_, telemetry::Logger(log, "test"),
        Server{.host = "127.0.0.1", .port = server_.port()}, std::move(handler), options));
    workers_.back()->offer(std::move(functions));
    workers_.back()->start();
    return *workers_.back();
  }

  int occurrences(const std::string& text) const {
    int count = 0;
    for (auto at = log_.find(text); at != std::string::npos; at = log_.find(text, at + 1)) ++count;
    return count;
  }

  void stop(std::size_t number) {
    loop_.run(workers_[number]->stop());
    workers_[number].reset();
  }

  // Runs the loop until the condition is true. Fails the test on a timeout.
  template <typename Condition>
  void until(const char* what, Condition condition) {
    auto wait = [](async::Clock& clock, Condition& met) -> Task<bool> {
      const auto end = clock.now() + test_support::kPatience;
      while (!met()) {
        if (clock.now() > end) co_return false;
        co_await clock.sleep_for(milliseconds(5));
      }
      co_return true;
    };
    Task<bool> waiting = wait(clock_, condition);
    ASSERT_TRUE(loop_.run(std::move(waiting))) << what << "\n" << log_;
  }

  void until_offered(const std::string& function, int connections) {
    until(function.c_str(), [&] { return server_.workers(function) == connections; });
  }

  // Returns the payload.
  static Task<JobResult> echo(std::shared_ptr<Job> job) {
    co_return Complete{job->function() + " " + job->unique() + " " + job->payload()};
  }

  // Waits until release_ is set for each job.
  GearmanWorker::Handler held() {
    return [this](const std::shared_ptr<Job>& job) { return hold(*this, job); };
  }
  static Task<JobResult> hold(GearmanWorkerTest& test, std::shared_ptr<Job> job) {
    test.begun_.push_back(job->unique());
    job->status({.done = 0, .all = 1});
    ++test.under_way_;
    test.most_under_way_ = std::max(test.most_under_way_, test.under_way_);
    const Leaving leaving{test.under_way_};
    co_await test.release_.wait();
    co_return Complete{"held"};
  }

  struct Leaving {
    int& count;
    ~Leaving() { --count; }
  };

  Gearmand server_;
  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  std::string log_;
  async::Event release_;
  std::deque<std::string> begun_;
  int under_way_ = 0;
  int most_under_way_ = 0;
  std::vector<std::unique_ptr<GearmanWorker>> workers_;
};

TEST_F(GearmanWorkerTest, DoesWhatTheClientAsksFor) {
  worker({"shout", "whisper"}, echo);
  Child client(server_.client({"-f", "shout", "-u", "u-1", "hello"}));
  until("the client's end", [&] { return !client.running(); });
  EXPECT_EQ(client.wait(), 0);
  EXPECT_EQ(client.standard_output(), "shout u-1 hello");
}

TEST_F(GearmanWorkerTest, ReportsProgressToTheClient) {
  const auto handler = [](std::shared_ptr<Job> job) -> Task<JobResult> {
    job->data("some");
    job->warning("mind");
    job->status({.done = 2, .all = 3});
    co_return Complete{"all"};
  };
  worker({"count"}, handler);
  GearmanClient client(server_.port());
  client.submit("count", "", "");
  until("completion", [&] { return !client.seen("WORK_COMPLETE").empty(); });
  EXPECT_THAT(client.seen("WORK_DATA"), ElementsAre("some"));
  EXPECT_THAT(client.seen("WORK_WARNING"), ElementsAre("mind"));
  EXPECT_THAT(client.seen("WORK_STATUS"), ElementsAre("2/3"));
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre("all"));
}

TEST_F(GearmanWorkerTest, AFailureComesWithItsReasonAndDisturbsNoOther) {
  const auto handler = [](std::shared_ptr<Job> job) -> Task<JobResult> {
    if (job->payload() == "fail") co_return Failed{};
    if (job->payload() == "reason") co_return Failed{"no flour"};
    if (job->payload() == "throw") throw std::runtime_error("no oven");
    co_return Complete{"bread"};
  };
  worker({"bake"}, handler, 1);
  GearmanClient client(server_.port());
  for (const char* payload : {"fail", "reason", "throw", "bread"}) {
    client.submit("bake", payload, payload);
  }
  until("completion", [&] { return !client.seen("WORK_COMPLETE").empty(); });
  EXPECT_EQ(client.seen("WORK_FAIL").size(), 3U);
  EXPECT_THAT(client.seen("WORK_WARNING"), ElementsAre("no flour", "no oven"));
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre("bread"));
  EXPECT_THAT(log_, HasSubstr("Gearman job reason of bake failed: no flour"));
  EXPECT_THAT(log_, Not(HasSubstr("unreachable")));
}

TEST_F(GearmanWorkerTest, TheCommandShowsTheReasonOfAFailure) {
  const auto handler = [](std::shared_ptr<Job>) -> Task<JobResult> {
    co_return Failed{"no flour"};
  };
  worker({"bake"}, handler, 1);
  Child client(server_.client({"-f", "bake", "-s"}));
  until("the client's end", [&] { return !client.running(); });
  EXPECT_EQ(client.wait(), 1);
  EXPECT_THAT(client.standard_output() + client.standard_error(), HasSubstr("no flour"));
}

TEST_F(GearmanWorkerTest, LimitsRequestsAndResponses) {
  const auto handler = [](std::shared_ptr<Job> job) -> Task<JobResult> {
    job->warning(std::string(kLongestAnswer + 1, 'w'));
    co_return Complete{std::string(kLongestAnswer + 1, 'r')};
  };
  worker({"talk"}, handler, 1);
  GearmanClient client(server_.port());
  client.submit("talk", "", std::string(100'000, 'p'));
  client.submit("talk", "", "");
  until("the ends", [&] { return client.seen("WORK_FAIL").size() == 2; });
  EXPECT_THAT(
      client.seen("WORK_WARNING"),
      ElementsAre("payload too long: 100000 bytes (at most 4096)", std::string(kLongestAnswer, 'w'),
                  "result too long: 65537 bytes (at most 65536)"));
}

TEST_F(GearmanWorkerTest, AHugePayloadAndManyJobsAreServed) {
  worker({"talk", "other"}, echo, 3);
  until_offered("talk", 3);
  GearmanClient client(server_.port());
  client.submit("talk", "", std::string(5'000'000, 'p'));
  constexpr std::size_t kJobs = 2000;
  for (std::size_t i = 0; i < kJobs; ++i) client.submit("talk", "job-" + std::to_string(i), "x");
  until("the ends", [&] {
    return client.seen("WORK_COMPLETE").size() == kJobs && client.seen("WORK_FAIL").size() == 1;
  });
  EXPECT_EQ(server_.jobs("talk"), 0);
  until_offered("talk", 3);
  until_offered("other", 3);
}

TEST_F(GearmanWorkerTest, OffersAndTakesBackAtAnyTime) {
  GearmanWorker& one = worker({"a", "b"}, echo);
  until_offered("a", 2);
  until_offered("b", 2);
  one.offer({"b", "c"});
  until_offered("c", 2);
  until_offered("a", 0);
  until_offered("b", 2);
  one.offer({});
  until_offered("b", 0);
  one.offer({"a"});
  until_offered("a", 2);
  EXPECT_THROW(one.offer({""}), std::invalid_argument);
  EXPECT_THROW(one.offer({std::string(513, 'f')}), std::invalid_argument);
}

TEST_F(GearmanWorkerTest, DoesSoManyJobsAtATime) {
  worker({"wait"}, held(), 2);
  GearmanClient client(server_.port());
  for (const char* unique : {"1", "2", "3"}) client.submit("wait", unique, "");
  until("two jobs", [&] { return under_way_ == 2; });
  EXPECT_EQ(server_.jobs("wait"), 3);
  until("all done", [&] {
    release_.set();
    return client.seen("WORK_COMPLETE").size() == 3;
  });
  EXPECT_EQ(most_under_way_, 2);
}

TEST_F(GearmanWorkerTest, AConnectionWithAJobTakesBackAfterIt) {
  GearmanWorker& one = worker({"wait", "other"}, held(), 1);
  GearmanClient client(server_.port());
  client.submit("wait", "1", "");
  until("the job", [&] { return under_way_ == 1; });
  one.offer({"other"});
  release_.set();
  until_offered("wait", 0);
  until_offered("other", 1);
  EXPECT_EQ(client.seen("WORK_COMPLETE").size(), 1U);
}

// Waiting jobs of the function are left to other workers.
TEST_F(GearmanWorkerTest, AConnectionWithAJobTakesNoOtherOfAnOldFunction) {
  GearmanWorker& one = worker({"wait", "other"}, held(), 1);
  GearmanClient client(server_.port());
  client.submit("wait", "1", "");
  until("the job", [&] { return under_way_ == 1; });
  client.submit("wait", "2", "");
  until("a queue", [&] { return server_.jobs("wait") == 2; });
  one.offer({"other"});
  release_.set();
  until_offered("wait", 0);
  EXPECT_EQ(server_.jobs("wait"), 1);
  worker({"wait"}, echo, 1);
  until("both", [&] { return client.seen("WORK_COMPLETE").size() == 2; });
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre("held", "wait 2 "));
  EXPECT_THAT(client.seen("WORK_FAIL"), IsEmpty());
}

TEST_F(GearmanWorkerTest, AServerThatWasAwayIsServedAgain) {
  worker({"shout"}, echo);
  until_offered("shout", 2);
  for (int round = 0; round < 2; ++round) {
    server_.kill();
    server_.start();
    until_offered("shout", 2);
  }
  EXPECT_THAT(log_, HasSubstr("is unreachable"));
  Child client(server_.client({"-f", "shout", "-u", "u", "hello"}));
  until("the client's end", [&] { return !client.running(); });
  EXPECT_EQ(client.standard_output(), "shout u hello");
}

// The connection of the job detects it as well, and is restored before the job ends.
TEST_F(GearmanWorkerTest, AServerGoesInTheMiddleOfAJob) {
  worker({"wait"}, held(), 1);
  std::optional<GearmanClient> client(server_.port());
  client->submit("wait", "1", "");
  until("the job", [&] { return under_way_ == 1; });
  server_.kill();
  server_.start();
  until_offered("wait", 1);
  EXPECT_EQ(under_way_, 1);
  client.emplace(server_.port());
  client->submit("wait", "2", "");
  until("the second job", [&] { return under_way_ == 2; });
  release_.set();
  until("completion", [&] { return !client->seen("WORK_COMPLETE").empty(); });
  EXPECT_THAT(begun_, ElementsAre("1", "2"));
}

TEST_F(GearmanWorkerTest, WaitsForAServerThatIsNotThereYet) {
  server_.kill();
  worker({"shout"}, echo);
  until("a word about it", [&] { return log_.contains("is unreachable"); });
  server_.start();
  until_offered("shout", 2);
}

TEST_F(GearmanWorkerTest, SaysOnceAndTrulyThatThereIsNoServer) {
  server_.kill();
  worker({"shout"}, echo, 3);
  until("attempts", [&] { return occurrences("Connection refused") >= 9; });
  EXPECT_EQ(occurrences("is unreachable"), 1) << log_;
  EXPECT_THAT(log_, HasSubstr("is unreachable, retrying: Connection refused"));
  EXPECT_THAT(log_, Not(HasSubstr("Offering functions")));
}

TEST_F(GearmanWorkerTest, TriesLessAndLessOften) {
  server_.kill();
  worker({"shout"}, echo, 1, {std::chrono::milliseconds(1), std::chrono::hours(1)});
  // 1 + 2 + 4 + … ms: with constant delays there would be more attempts.
  const auto begun = clock_.now();
  until("attempts", [&] { return occurrences("Connection refused") >= 7; });
  EXPECT_GE(clock_.now() - begun, milliseconds(1 + 2 + 4 + 8 + 16 + 32));
}

TEST_F(GearmanWorkerTest, StopsWhileNoServerIsThere) {
  server_.kill();
  worker({"shout"}, echo);
  until("a word about it", [&] { return log_.contains("is unreachable"); });
  stop(0);
}

TEST_F(GearmanWorkerTest, WorkersShareAServer) {
  worker({"left", "both"}, echo, 1);
  worker({"right", "both"}, echo, 1);
  until_offered("left", 1);
  until_offered("right", 1);
  until_offered("both", 2);
  stop(0);
  until_offered("left", 0);
  until_offered("both", 1);
}

TEST_F(GearmanWorkerTest, AStoppedWorkerReturnsItsJobs) {
  worker({"wait"}, held(), 1);
  GearmanClient client(server_.port());
  client.submit("wait", "1", "");
  until("the job", [&] { return under_way_ == 1; });
  worker({"wait"}, echo, 1);
  stop(0);
  until("the other one's answer", [&] { return !client.seen("WORK_COMPLETE").empty(); });
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre("wait 1 "));
  EXPECT_THAT(client.seen("WORK_FAIL"), IsEmpty());
  EXPECT_THAT(log_, Not(HasSubstr("unreachable")));
}

TEST_F(GearmanWorkerTest, FinishesWhatIsUnderWay) {
  GearmanWorker& one = worker({"wait"}, held(), 1);
  GearmanClient client(server_.port());
  client.submit("wait", "1", "");
  until("the job", [&] { return under_way_ == 1; });
  release_.set();
  loop_.run(one.finish());
  stop(0);
  until("completion", [&] { return !client.seen("WORK_COMPLETE").empty(); });
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre("held"));
}

TEST_F(GearmanWorkerTest, AResultJustBeforeTheStopIsSent) {
  GearmanClient client(server_.port());
  client.submit("wait", "1", "");
  std::shared_ptr<Job> job;
  bool is_stopping = false;
  {
    Connection connection({.host = "127.0.0.1", .port = server_.port()}, milliseconds(20),
                          {.ready = [] {},
                           .start =
                               [&](Job::Request request) {
                                 return job = std::make_shared<Job>(std::move(request), [] {});
                               },
                           .interrupted = [&] { return is_stopping; },
                           .stopping =
                               [&] {
                                 if (job && !std::exchange(is_stopping, true)) {
                                   job->end(Complete{"just in time"});
                                 }
                                 return is_stopping;
                               }});
    EXPECT_FALSE(connection.serve({"wait"}));
  }
  until("completion", [&] { return !client.seen("WORK_COMPLETE").empty(); });
  EXPECT_THAT(client.seen("WORK_COMPLETE"), ElementsAre("just in time"));
}

}  // namespace
}  // namespace nodepool::gearman
