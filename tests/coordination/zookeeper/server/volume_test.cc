// Large amounts of data.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "coordination/path.h"
#include "coordination/tree_cache.h"
#include "tests/coordination/zookeeper/fixture/faults.h"

namespace nodepool::coordination::zookeeper {
namespace {

using Kind = StoreError::Kind;

class ZooKeeperVolume : public FaultTest, public testing::WithParamInterface<Security> {
 protected:
  ZooKeeperVolume()
      : FaultTest(options_for(shared_ensemble(1), {0}, GetParam())), store_(fixture_.open()) {}

  // Creates children of `parent`, a thousand in a transaction, and returns their number.
  std::size_t create_children(const std::string& parent, std::size_t count) {
    for (std::size_t done = 0; done < count; done += 1000) {
      Transaction transaction;
      for (int i = 0; i < 1000; ++i) {
        transaction.create(parent + "/a-name-of-some-length-", "",
                           CreateMode::persistent_sequential);
      }
      run(store_->commit(std::move(transaction)));
    }
    return count;
  }

  std::unique_ptr<Store> store_;
};

TEST_P(ZooKeeperVolume, twenty_thousand_children_are_listed) {
  run(store_->create("/a", "", CreateMode::persistent));
  create_children("/a", 20'000);
  const std::vector<std::string> names = run(store_->children("/a"));
  ASSERT_EQ(names.size(), 20'000);
  EXPECT_EQ(names.back(), "a-name-of-some-length-0000019999");
}

TEST_P(ZooKeeperVolume, thousands_of_reads_take_few_packets) {
  run(store_->create("/a", "", CreateMode::persistent));
  create_children("/a", 5'000);
  const std::vector<std::string> names = run(store_->children("/a"));
  const auto read = [](Store& store, std::string path, int& good) -> Task<> {
    const Entry entry = co_await store.get(path);
    const std::vector<std::string> children = co_await store.children(std::move(path));
    if (entry.data.empty() && children.empty()) ++good;
  };
  const std::int64_t before = shared_ensemble(1).packets_received(0);
  int good = 0;
  for (const std::string& name : names) {
    scope_.spawn("read", read(*store_, join_path("/a", name), good));
  }
  run(scope_.join());
  EXPECT_EQ(good, 5'000);
  // 10,000 reads, 128 in a packet; the last packets of an iteration of the loop, and of a socket's
  // buffer, are smaller.
  EXPECT_LT(shared_ensemble(1).packets_received(0) - before, 250);
}

// The records of a tree, each with a lock below it.
class Records final : public TreeListener {
 public:
  Interest interest(std::string_view path) const override {
    return path.find('/') == std::string_view::npos ? Interest::data : Interest::name;
  }
  void on_changed(std::string_view, const Entry&) override { ++known; }
  void on_removed(std::string_view) override {}
  void on_ready() override {}
  void on_lost() override {}

  int known = 0;
};

TEST_P(ZooKeeperVolume, thousands_of_records_are_walked_in_few_packets) {
  constexpr int kRecords = 4'000;
  run(store_->create("/a", "", CreateMode::persistent));
  for (int begin = 0; begin < kRecords; begin += 500) {
    Transaction transaction;
    for (int i = begin; i < begin + 500; ++i) {
      const std::string path = "/a/" + std::to_string(i);
      transaction.create(path, std::string(500, 'x')).create(path + "/lock", "");
    }
    run(store_->commit(std::move(transaction)));
  }
  Records records;
  const std::int64_t before = shared_ensemble(1).packets_received(0);
  TreeCache cache(fixture_.runtime(), *store_, "/a", records);
  scope_.spawn("cache", cache.run());
  ASSERT_TRUE(fixture_.run_until([&cache] { return cache.ready(); }));
  EXPECT_EQ(records.known, 2 * kRecords);
  // Three reads for each record: its data, its children, and those of its lock; up to 128 in one.
  EXPECT_LT(shared_ensemble(1).packets_received(0) - before, 3 * kRecords / 60);
  run(scope_.stop());
}

TEST_P(ZooKeeperVolume, the_largest_records_pass_side_by_side) {
  const auto exchange = [](Store& store, int number, int& good) -> Task<> {
    const std::string path = "/large-" + std::to_string(number);
    const std::string data(kMaximumDataSize, static_cast<char>('a' + number));
    co_await store.create(path, data, CreateMode::persistent);
    const Entry entry = co_await store.get(path);
    if (entry.data == data) ++good;
  };
  int good = 0;
  for (int i = 0; i < 10; ++i) scope_.spawn("exchange", exchange(*store_, i, good));
  run(scope_.join());
  EXPECT_EQ(good, 10);
}

TEST_P(ZooKeeperVolume, a_transaction_over_the_limit_is_rejected_and_the_session_continues) {
  Transaction transaction;
  transaction.create("/a", std::string(600'000, 'a')).create("/b", std::string(600'000, 'b'));
  try {
    run(store_->commit(std::move(transaction)));
    ADD_FAILURE() << "not rejected";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), Kind::too_large) << error.what();
  }
  EXPECT_EQ(run(store_->exists("/a")), std::nullopt);
}

TEST_P(ZooKeeperVolume, thousands_of_events_are_reported_in_order) {
  const auto other = fixture_.open();
  std::vector<std::string> expected = {"resync"};
  for (int i = 0; i < 100; ++i) {
    run(store_->create("/" + std::to_string(i), "", CreateMode::persistent));
  }
  conformance::WatchLog log(fixture_, *other, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  const auto change = [](Store& store, std::string path) -> Task<> {
    co_await store.set(std::move(path), "", kAnyVersion);
  };
  for (int i = 0; i < 5000; ++i) {
    const std::string path = "/" + std::to_string(i % 100);
    expected.push_back("changed " + path);
    scope_.spawn("change", change(*store_, path));
  }
  run(scope_.join());
  ASSERT_TRUE(log.run_until_size_is(expected.size()));
  EXPECT_EQ(log.lines(), expected);
}

TEST_P(ZooKeeperVolume, a_thousand_watches_each_report_their_own_node) {
  std::vector<std::unique_ptr<conformance::WatchLog>> logs;
  for (int i = 0; i < 1000; ++i) {
    logs.push_back(
        std::make_unique<conformance::WatchLog>(fixture_, *store_, "/" + std::to_string(i)));
  }
  for (int i = 0; i < 1000; ++i) {
    const std::string path = "/" + std::to_string(i);
    ASSERT_TRUE(logs[static_cast<std::size_t>(i)]->run_until_last_is("resync"));
    run(store_->create(path, "", CreateMode::persistent));
  }
  for (int i = 0; i < 1000; ++i) {
    auto& log = *logs[static_cast<std::size_t>(i)];
    ASSERT_TRUE(log.run_until_last_is("created /" + std::to_string(i)));
    EXPECT_EQ(log.lines().size(), 2);
  }
}

INSTANTIATE_TEST_SUITE_P(zookeeper, ZooKeeperVolume,
                         testing::Values(Security::plain, Security::tls));

}  // namespace
}  // namespace nodepool::coordination::zookeeper
