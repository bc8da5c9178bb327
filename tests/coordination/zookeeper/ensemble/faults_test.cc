// An ensemble that loses members, its leader or its quorum.
#include "tests/coordination/zookeeper/fixture/faults.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "coordination/outage.h"

namespace nodepool::coordination::zookeeper {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using Kind = StoreError::Kind;
using enum SessionState;

class ZooKeeperEnsembleFaults : public FaultTest {
 protected:
  ZooKeeperEnsembleFaults()
      : FaultTest(options_for(shared_ensemble(3), {0, 1, 2}, Security::tls)),
        ensemble_(shared_ensemble(3)) {}

  ~ZooKeeperEnsembleFaults() override {
    for (std::size_t i = 0; i < ensemble_.size(); ++i) ensemble_.wait_until_serving(i);
  }

  // The same installation through one member only.
  std::unique_ptr<ZooKeeperStore> open_at(std::size_t member,
                                          std::chrono::milliseconds session_timeout) {
    ZooKeeperOptions options = options_for(ensemble_, {member}, Security::tls);
    options.chroot = fixture_.options().chroot;
    options.session_timeout = session_timeout;
    options.connect_timeout = milliseconds(500);
    return fixture_.open(options);
  }

  test_support::ZooKeeperEnsemble& ensemble_;
};

// Longer than the election of a leader takes on a busy machine.
constexpr auto kLongSession = std::chrono::seconds(60);

// Continues to write through all outages. Returns whether there was no other failure.
Task<bool> write_on(Store& store, std::string path, int& version, const bool& stop) {
  bool is_certain = true;  // whether `version` is the path's version
  while (!stop) {
    try {
      if (!is_certain) {
        const Entry entry = co_await store.get(path);
        EXPECT_GE(entry.stat.version, version);
        version = entry.stat.version;
      }
      is_certain = false;
      co_await store.set(path, std::to_string(version + 1), version);
      ++version;
      is_certain = true;
    } catch (const StoreError& error) {
      if (error.kind() == Kind::disconnected || error.kind() == Kind::unknown_outcome) continue;
      ADD_FAILURE() << error.what();
      co_return false;
    }
  }
  co_return true;
}

TEST_F(ZooKeeperEnsembleFaults, sessions_survive_the_death_of_each_member_in_turn) {
  ZooKeeperOptions options = fixture_.options();
  options.session_timeout = kLongSession;
  const auto store = fixture_.open(options);
  const std::int64_t session = store->session_id();
  run(store->create("/a", "", CreateMode::persistent));
  run(store->create("/mine", "", CreateMode::ephemeral));
  int version = 0;
  bool stop = false;
  Outcome<bool> written;
  start(write_on(*store, "/a", version, stop), written);
  for (std::size_t killed = 0; killed < 3; ++killed) {
    // The current leader last, because that is the longest pause.
    const std::size_t member = killed == 2 ? ensemble_.leader() : killed;
    const int before = version;
    ensemble_.kill(member);
    ASSERT_TRUE(fixture_.run_until([&] { return version > before + 20 || written.is_known(); }));
    ASSERT_FALSE(written.is_known());
    ensemble_.start(member);
    ensemble_.wait_until_serving(member);
  }
  stop = true;
  ASSERT_TRUE(run_until_known(written));
  EXPECT_TRUE(written.value.value_or(false));
  EXPECT_EQ(store->session_id(), session);
  EXPECT_EQ(run(store->get("/mine")).stat.ephemeral_owner, session);
  EXPECT_EQ(run(store->get("/a")).stat.version, version);
}

TEST_F(ZooKeeperEnsembleFaults, a_session_moves_away_from_a_paused_member) {
  const std::size_t leader = ensemble_.leader();
  const std::vector<std::size_t> followers{(leader + 1) % 3, (leader + 2) % 3};
  ZooKeeperOptions options = fixture_.options();
  options.servers = options_for(ensemble_, followers, Security::tls).servers;
  options.session_timeout = milliseconds(12'000);  // it moves after two thirds of that
  options.connect_timeout = milliseconds(300);
  const auto store = fixture_.open(options);
  StateLog states(fixture_, *store);
  const std::int64_t session = store->session_id();
  run(store->create("/mine", "", CreateMode::ephemeral));
  // The session is on one of them, and moves at least once.
  for (const std::size_t paused : followers) {
    ensemble_.pause(paused);
    EXPECT_TRUE(fixture_.run_until([&] {
      Outcome<std::optional<Stat>> read;
      run(keep_outcome(store->exists("/mine"), read));
      return read.value && *read.value;
    }));
    ensemble_.resume(paused);
    ensemble_.wait_until_serving(paused);
  }
  EXPECT_THAT(states.states(), Contains(suspended));
  EXPECT_EQ(store->session_id(), session);
}

TEST_F(ZooKeeperEnsembleFaults, a_session_expires_when_its_only_member_hangs) {
  const std::size_t paused = (ensemble_.leader() + 1) % 3;
  const auto other = open_at((paused + 1) % 3, kLongSession);
  const auto store = open_at(paused, milliseconds(4000));
  StateLog states(fixture_, *store);
  run(store->create("/mine", "", CreateMode::ephemeral));
  conformance::WatchLog log(fixture_, *other, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  ensemble_.pause(paused);
  ASSERT_TRUE(log.run_until_last_is("removed /mine"));
  ensemble_.resume(paused);
  ASSERT_TRUE(states.run_until(connected));
  EXPECT_THAT(states.states(), ElementsAre(suspended, expired, connected));
  run(store->create("/mine", "", CreateMode::ephemeral));
  EXPECT_EQ(run(store->get("/mine")).stat.ephemeral_owner, store->session_id());
}

TEST_F(ZooKeeperEnsembleFaults, a_session_moves_with_the_list_of_servers) {
  const auto store = open_at(0, kLongSession);
  StateLog states(fixture_, *store);
  run(store->create("/mine", "", CreateMode::ephemeral));
  const std::int64_t session = store->session_id();
  for (const std::size_t member : {1, 2, 0}) {
    store->reconfigure(options_for(ensemble_, {member}, Security::tls));
    ASSERT_TRUE(states.run_until(suspended));
    ASSERT_TRUE(states.run_until(connected));
    EXPECT_EQ(store->session_id(), session);
    EXPECT_TRUE(run(store->exists("/mine")));
  }
}

TEST_F(ZooKeeperEnsembleFaults, without_a_quorum_nothing_happens_until_it_is_back) {
  ZooKeeperOptions options = fixture_.options();
  options.session_timeout = milliseconds(2000);
  const auto store = fixture_.open(options);
  StateLog states(fixture_, *store);
  conformance::WatchLog log(fixture_, *store, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  ensemble_.kill(0);
  ensemble_.kill(1);
  ASSERT_TRUE(states.run_until(suspended));
  const std::int64_t session = store->session_id();
  // Each waits for the timeout of the session, which the ensemble may still have.
  for (int i = 0; i < 3; ++i) {
    Outcome<std::string> created;
    start(store->create("/a", "", CreateMode::persistent), created);
    ASSERT_TRUE(run_until_known(created));
    EXPECT_EQ(created.failure, Kind::disconnected);
  }
  EXPECT_EQ(store->session_id(), session);
  ensemble_.start(0);
  ensemble_.start(1);
  ASSERT_TRUE(states.run_until(connected));
  log.clear();
  run(store->create("/b", "", CreateMode::persistent));
  EXPECT_TRUE(
      fixture_.run_until([&log] { return testing::Value(log.lines(), Contains("created /b")); }));
}

TEST_F(ZooKeeperEnsembleFaults, results_of_transactions_are_those_that_are_read_later) {
  std::vector<std::unique_ptr<ZooKeeperStore>> stores;
  for (std::size_t i = 0; i < 3; ++i) stores.push_back(open_at(i, kLongSession));
  const auto create_and_compare = [](Store& store, std::string path) -> Task<> {
    Transaction transaction;
    transaction.create(path, "data", CreateMode::ephemeral).create(path + "-", "");
    const std::vector<OperationResult> results = co_await store.commit(std::move(transaction));
    for (const OperationResult& result : results) {
      Stat expected = result.stat;
      const Entry entry = co_await store.get(result.path);
      expected.ctime = entry.stat.ctime;
      expected.mtime = entry.stat.mtime;
      EXPECT_EQ(entry.stat, expected) << result.path;
    }
  };
  // On a busy machine, the ensemble may elect another leader meanwhile.
  const auto compare_surely = [&](Store& store, std::string path) -> Task<> {
    for (int attempt = 0;; ++attempt) {
      try {
        co_await create_and_compare(store, path + "-" + std::to_string(attempt));
        co_return;
      } catch (const StoreError& error) {
        if (!is_outage(error)) throw;
      }
      co_await wait_for_store(fixture_.runtime(), store);
    }
  };
  for (int i = 0; i < 500; ++i) {
    for (std::size_t member = 0; member < 3; ++member) {
      const std::string path = "/" + std::to_string(member) + "-" + std::to_string(i);
      scope_.spawn("compare", compare_surely(*stores[member], path));
    }
  }
  run(scope_.join());
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
