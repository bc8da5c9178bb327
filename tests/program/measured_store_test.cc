#include "program/measured_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "coordination/faulty/faulty_store.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "telemetry/metrics_registry.h"

namespace nodepool::program {
namespace {

using coordination::CreateMode;
using coordination::StoreError;
using testing::HasSubstr;

class MeasuredStoreTest : public testing::Test {
 protected:
  bool shows(const std::string& line) const {
    return registry_->prometheus_text().contains(line + "\n");
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore inner_{server_, runtime_};
  std::shared_ptr<telemetry::MetricsRegistry> registry_ =
      std::make_shared<telemetry::MetricsRegistry>();
  MeasuredStore store_{clock_, inner_, false, telemetry::Metrics().also_to(registry_),
                       [](const std::string&) {}};
};

TEST_F(MeasuredStoreTest, every_operation_is_timed_also_one_that_fails) {
  EXPECT_EQ(loop_.run(store_.create("/a", "1", CreateMode::persistent)), "/a");
  EXPECT_EQ(loop_.run(store_.get("/a")).data, "1");
  EXPECT_THROW(loop_.run(store_.get("/b")), StoreError);
  EXPECT_EQ(loop_.run(store_.set("/a", "2", coordination::kAnyVersion)).version, 1);
  EXPECT_TRUE(loop_.run(store_.exists("/a")));
  EXPECT_THAT(loop_.run(store_.children("/a")), testing::IsEmpty());
  coordination::Transaction transaction;
  transaction.create("/c", "");
  EXPECT_EQ(loop_.run(store_.commit(std::move(transaction))).size(), 1U);
  loop_.run(store_.remove("/a", coordination::kAnyVersion));
  for (const char* operation : {"create", "set", "exists", "children", "commit", "remove"}) {
    EXPECT_TRUE(
        shows(std::string("nodepool_store_call_seconds_count{operation=\"") + operation + "\"} 1"))
        << operation;
  }
  EXPECT_TRUE(shows("nodepool_store_call_seconds_count{operation=\"get\"} 2"));
  EXPECT_EQ(store_.under_way(), 0U);
}

TEST_F(MeasuredStoreTest, what_is_not_answered_is_under_way) {
  std::optional<std::size_t> seen;
  const auto handle = store_.watch("/a", [&](const coordination::WatchEvent&) {
    if (!seen) seen = store_.under_way();
  });
  EXPECT_EQ(store_.session_id(), inner_.session_id());
  EXPECT_EQ(store_.session_state(), inner_.session_state());
  loop_.run(store_.close());
  EXPECT_EQ(inner_.session_state(), coordination::SessionState::closed);
}

TEST_F(MeasuredStoreTest, every_write_shows_whether_the_store_accepts_writes) {
  bool is_full = true;
  coordination::FaultPlan plan;
  plan.is_full = [&is_full] { return is_full; };
  coordination::FaultyStore faulty(inner_, runtime_, std::move(plan), 1);
  std::vector<std::string> refusals;
  MeasuredStore store(clock_, faulty, false, {},
                      [&](const std::string& refusal) { refusals.push_back(refusal); });
  const auto commit = [&store] {
    coordination::Transaction transaction;
    transaction.create("/c", "");
    return store.commit(std::move(transaction));
  };
  EXPECT_THROW(loop_.run(store.create("/a", "", CreateMode::persistent)), StoreError);
  EXPECT_THROW(loop_.run(store.set("/a", "", coordination::kAnyVersion)), StoreError);
  EXPECT_THROW(loop_.run(store.remove("/a", coordination::kAnyVersion)), StoreError);
  EXPECT_THROW(loop_.run(commit()), StoreError);
  EXPECT_FALSE(loop_.run(store.exists("/a")));
  EXPECT_THAT(refusals, testing::AllOf(testing::SizeIs(4), testing::Each(HasSubstr("is full"))));

  is_full = false;
  refusals.clear();
  EXPECT_THROW(loop_.run(store.remove("/a", coordination::kAnyVersion)), StoreError);
  EXPECT_THAT(refusals, testing::IsEmpty()) << "a rejection does not show it";
  loop_.run(store.create("/a", "", CreateMode::persistent));
  loop_.run(store.set("/a", "", coordination::kAnyVersion));
  loop_.run(store.remove("/a", coordination::kAnyVersion));
  loop_.run(commit());
  EXPECT_THAT(refusals, testing::ElementsAre("", "", "", ""));
}

TEST_F(MeasuredStoreTest, only_an_embedded_store_refuses_the_writes_that_do_not_reach_it) {
  coordination::FaultPlan plan;
  plan.disconnected = 1;
  coordination::FaultyStore faulty(inner_, runtime_, std::move(plan), 1);
  for (const bool is_embedded : {true, false}) {
    std::vector<std::string> refusals;
    MeasuredStore store(clock_, faulty, is_embedded, {},
                        [&](const std::string& refusal) { refusals.push_back(refusal); });
    EXPECT_THROW(loop_.run(store.create("/a", "", CreateMode::persistent)), StoreError);
    EXPECT_THAT(refusals, testing::SizeIs(is_embedded ? 1 : 0));
  }
}

}  // namespace
}  // namespace nodepool::program
