#include "api/lease_request_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "coordination/faulty/faulty_store.h"
#include "coordination/lock.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "model/paths.h"
#include "requestor/lease_request.h"
#include "tests/requestor/launcher_double.h"

namespace nodepool::api {
namespace {

using requestor::LauncherDouble;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A worker whose store can be full, and a launcher double on the same server.
class LeaseRequestWorkerTest : public testing::Test {
 protected:
  LeaseRequestWorkerTest() {
    launcher_.react(LauncherDouble::Reaction::ignore);
    run(records_.make_roots(model::Records::all()));
    records_.follow(scope_, model::Records::all());
    run(records_.until_ready());
    worker_.start();
  }
  ~LeaseRequestWorkerTest() override {
    run(worker_.stop());
    run(scope_.stop());
    run(launcher_.stop());
  }

  template <typename T>
  T run(async::Task<T> task) {
    return loop_.run(std::move(task));
  }
  void run(async::Task<> task) { loop_.run(std::move(task)); }

  void settle() {
    while (loop_.poll()) {
    }
  }

  // Advances the time in steps and runs the due work.
  void pass(seconds time) {
    for (auto passed = seconds(0); passed < time; passed += seconds(1)) {
      clock_.advance_by(seconds(1));
      settle();
    }
  }

  // Creates a lease request with a timeout of an hour, as another launcher does; returns its id.
  std::string create() {
    requestor::NodeRequestSpec spec{{"small"}, "ada"};
    model::LeaseRequest terms{.owner = "gitlab",
                              .holder = "job 17",
                              .lease = 7200,
                              .expires = clock_.wall_seconds() + 3600};
    const std::optional<model::NodeRequest> request = run(requestor::create_lease_request(
        runtime_, launcher_store_, std::move(spec), std::move(terms)));
    settle();
    return request->id;
  }

  // The state of the only node.
  model::NodeState node_state() { return run(launcher_.node("0000000000")).state; }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore launcher_store_{server_, runtime_};
  LauncherDouble launcher_{runtime_, launcher_store_};
  coordination::MemoryStore inner_{server_, runtime_};
  bool is_full_ = false;
  coordination::FaultyStore store_{inner_, runtime_, {.is_full = [this] { return is_full_; }}, 1};
  std::vector<std::string> lines_;
  telemetry::Logger log_{
      telemetry::Log::to_consumer([this](telemetry::LogLevel, std::string_view,
                                         std::string_view line) { lines_.emplace_back(line); },
                                  telemetry::LogLevel::warning),
      "test"};
  model::Records records_{runtime_, store_, log_};
  LeaseIndex lease_index_{records_.requests, records_.nodes};
  LeaseRequestWorker worker_{runtime_, store_, records_, lease_index_, log_};
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(LeaseRequestWorkerTest, a_request_expires_soon_after_the_clock_was_set_forward) {
  create();
  clock_.shift_wall_clock(7200);
  pass(seconds(61));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(LeaseRequestWorkerTest, a_request_that_is_fulfilled_too_late_is_withdrawn) {
  const std::string id = create();
  clock_.shift_wall_clock(3600 + 20);
  run(launcher_.fulfil_now(id));
  pass(seconds(4));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  EXPECT_EQ(node_state(), model::NodeState::ready) << "it is not leased";
}

TEST_F(LeaseRequestWorkerTest, a_request_that_is_fulfilled_just_in_time_is_leased) {
  const std::string id = create();
  clock_.shift_wall_clock(3600 - 1);
  run(launcher_.fulfil_now(id));
  pass(seconds(4));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  EXPECT_EQ(node_state(), model::NodeState::in_use);
}

TEST_F(LeaseRequestWorkerTest, retries_do_not_wait_for_the_time_of_a_clock_that_was_set_back) {
  const std::string id = create();
  coordination::Lock lock(launcher_store_, random_, model::request_lock_path(id));
  ASSERT_TRUE(run(lock.try_acquire()));
  run(launcher_.fulfil_now(id));
  pass(seconds(5));
  EXPECT_THAT(run(launcher_.requests()), ElementsAre(id));
  clock_.shift_wall_clock(-7200);
  run(lock.release());
  pass(seconds(5));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  EXPECT_EQ(node_state(), model::NodeState::in_use);
}

TEST_F(LeaseRequestWorkerTest, a_full_store_is_reported_once_and_retried_ever_more_rarely) {
  const std::string id = create();
  is_full_ = true;
  run(launcher_.fulfil_now(id));
  pass(seconds(90));
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("Processing the lease request failed, retrying")));
  EXPECT_LT(store_.counts().full, 20U);
  is_full_ = false;
  pass(seconds(31));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  EXPECT_EQ(node_state(), model::NodeState::in_use);
}

}  // namespace
}  // namespace nodepool::api
