// Effects of a broken connection on a session, its operations and its locks.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "coordination/lock.h"
#include "coordination/lock_set.h"
#include "tests/coordination/zookeeper/fixture/faults.h"
#include "tests/coordination/zookeeper/fixture/tcp_proxy.h"
#include "tests/support/patience.h"

namespace nodepool::coordination::zookeeper {
namespace {

using conformance::WatchLog;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = StoreError::Kind;
using enum SessionState;

constexpr auto kPersistent = CreateMode::persistent;

Task<bool> see_children(Store& store, async::Clock& clock, std::string path, std::size_t count) {
  const auto deadline = clock.now() + test_support::kPatience;
  while (clock.now() < deadline) {
    const std::vector<std::string> names = co_await store.children(path);
    if (names.size() == count) co_return true;
    co_await clock.sleep_for(milliseconds(1));
  }
  co_return false;
}

class ZooKeeperConnection : public FaultTest {
 protected:
  ZooKeeperConnection()
      : FaultTest(options_for(shared_ensemble(1), {0}, Security::plain)),
        other_(fixture_.open()),
        proxy_(fixture_, shared_ensemble(1).plain_port(0)),
        store_(fixture_.open(through_proxy())),
        states_(fixture_, *store_) {}

  ZooKeeperOptions through_proxy() const {
    ZooKeeperOptions options = fixture_.options();
    options.servers = {{"localhost", proxy_.port()}};
    return options;
  }

  std::vector<std::string> children(const std::string& path) { return run(other_->children(path)); }

  // Waits until the other session sees this number.
  bool wait_for_children(const std::string& path, std::size_t count) {
    return run(see_children(*other_, fixture_.runtime().clock, path, count));
  }

  std::unique_ptr<Store> other_;  // undisturbed
  TcpProxy proxy_;
  std::unique_ptr<ZooKeeperStore> store_;
  StateLog states_;
};

// Whether the descriptor is a connection to that loopback port.
bool leads_to(int descriptor, std::uint16_t port) {
  sockaddr_in peer{};
  socklen_t size = sizeof(peer);
  return ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
         peer.sin_family == AF_INET && ntohs(peer.sin_port) == port;
}

TEST_F(ZooKeeperConnection, programs_that_are_started_get_none_of_it) {
  ASSERT_TRUE(run(store_->exists("/")));
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename().string());
    if (leads_to(descriptor, proxy_.port())) found.push_back(descriptor);
  }
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(::fcntl(found.front(), F_GETFD), FD_CLOEXEC);
}

TEST_F(ZooKeeperConnection, a_write_completes_before_its_watch_event) {
  run(store_->create("/a", "", kPersistent));
  WatchLog log(fixture_, *store_, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  async::Event reported;
  std::vector<std::string> order;
  const Subscription watching = store_->watch("/a", [&reported](const WatchEvent& event) {
    if (event.kind != WatchEvent::Kind::resync) reported.set();
  });
  const auto watch = [](async::Event& reported, std::vector<std::string>& order) -> Task<> {
    for (int i = 0; i < 40; ++i) {
      co_await reported.wait();
      order.emplace_back("event");
    }
  };
  const auto write = [](Store& store, std::vector<std::string>& order) -> Task<> {
    for (int i = 0; i < 20; ++i) {
      Transaction transaction;
      transaction.set("/a", "x");
      co_await store.commit(std::move(transaction));
      order.emplace_back("answer");
      co_await store.set("/a", "y", kAnyVersion);
      order.emplace_back("answer");
    }
  };
  scope_.spawn("watch", watch(reported, order));
  run(write(*store_, order));
  run(scope_.join());
  for (std::size_t i = 0; i < 80; ++i) EXPECT_EQ(order.at(i), i % 2 == 0 ? "answer" : "event") << i;
}

TEST_F(ZooKeeperConnection, a_session_survives_a_cut) {
  run(store_->create("/a", "", kPersistent));
  run(store_->create("/a/mine", "", CreateMode::ephemeral));
  WatchLog log(fixture_, *store_, "/a");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  const std::int64_t session = store_->session_id();
  proxy_.refuse(true);
  proxy_.cut();
  ASSERT_TRUE(states_.run_until(suspended));
  run(other_->create("/a/unseen", "", kPersistent));
  proxy_.refuse(false);
  ASSERT_TRUE(log.run_until_size_is(2));
  run(other_->create("/a/seen", "", kPersistent));
  ASSERT_TRUE(log.run_until_last_is("created /a/seen"));
  EXPECT_THAT(log.lines(), ElementsAre("resync", "resync", "created /a/seen"));
  EXPECT_THAT(states_.states(), ElementsAre(suspended, connected));
  EXPECT_EQ(store_->session_id(), session);
  EXPECT_THAT(run(store_->children("/a")), ElementsAre("mine", "seen", "unseen"));
}

// Each of them lasts for 100 ms, or is followed by a pause of about that time.
TEST_F(ZooKeeperConnection, connections_that_are_cut_at_once_are_opened_at_a_limited_pace) {
  const async::Clock& clock = fixture_.runtime().clock;
  const auto begun = clock.now();
  for (int i = 0; i < 4; ++i) {
    proxy_.cut();
    ASSERT_TRUE(states_.run_until(suspended));
    ASSERT_TRUE(states_.run_until(connected));
  }
  EXPECT_GE(clock.now() - begun, milliseconds(150));
}

TEST_F(ZooKeeperConnection, operations_wait_for_the_next_connection_in_order) {
  proxy_.refuse(true);
  proxy_.cut();
  ASSERT_TRUE(states_.run_until(suspended));
  Outcome<std::string> created;
  Outcome<Stat> changed;
  Outcome<Entry> read;
  start(store_->create("/a", "one", kPersistent), created);
  start(store_->set("/a", "two", 0), changed);
  start(store_->get("/a"), read);
  WatchLog log(fixture_, *store_, "/a");
  ASSERT_TRUE(fixture_.run_until([this] { return !scope_.empty(); }));
  EXPECT_FALSE(created.is_known());
  proxy_.refuse(false);
  ASSERT_TRUE(run_until_known(read));
  ASSERT_TRUE(read.value);
  EXPECT_EQ(read.value->data, "two");
  ASSERT_TRUE(log.run_until_size_is(3));
  EXPECT_THAT(log.lines(), ElementsAre("resync", "created /a", "changed /a"));
}

TEST_F(ZooKeeperConnection, operations_give_up_when_there_is_no_connection_for_long) {
  ZooKeeperOptions options = through_proxy();
  options.session_timeout = milliseconds(1000);
  const auto impatient = fixture_.open(options);
  proxy_.refuse(true);
  proxy_.cut();
  StateLog states(fixture_, *impatient);
  ASSERT_TRUE(states.run_until(suspended));
  Outcome<Entry> read;
  Outcome<std::string> created;
  start(impatient->get("/a"), read);
  start(impatient->create("/a", "", kPersistent), created);
  ASSERT_TRUE(run_until_known(created));
  EXPECT_EQ(read.failure, Kind::disconnected);
  EXPECT_EQ(created.failure, Kind::disconnected);
  EXPECT_EQ(run(other_->exists("/a")), std::nullopt);
}

TEST_F(ZooKeeperConnection, operations_under_way_have_an_unknown_outcome) {
  proxy_.hold_answers();
  Outcome<std::string> created;
  Outcome<Entry> read;
  start(store_->create("/a", "", kPersistent), created);
  start(store_->get("/a"), read);
  ASSERT_TRUE(wait_for_children("/", 1));
  EXPECT_FALSE(created.is_known());
  proxy_.cut();
  ASSERT_TRUE(run_until_known(read));
  EXPECT_EQ(created.failure, Kind::unknown_outcome);
  EXPECT_EQ(read.failure, Kind::disconnected);
}

TEST_F(ZooKeeperConnection, a_lock_finds_its_contender_after_a_lost_response) {
  run(other_->create("/lock", "", kPersistent));
  proxy_.hold_answers();
  Lock lock(*store_, fixture_.runtime().random, "/lock");
  Outcome<bool> acquired;
  start(lock.try_acquire(), acquired);
  ASSERT_TRUE(wait_for_children("/lock", 1));
  proxy_.cut();
  ASSERT_TRUE(run_until_known(acquired));
  EXPECT_EQ(acquired.value, true);
  EXPECT_THAT(children("/lock"), SizeIs(1));
  run(lock.release());
  EXPECT_THAT(children("/lock"), IsEmpty());
}

TEST_F(ZooKeeperConnection, a_lock_is_released_after_a_lost_response) {
  run(other_->create("/lock", "", kPersistent));
  Lock lock(*store_, fixture_.runtime().random, "/lock");
  ASSERT_TRUE(run(lock.try_acquire()));
  proxy_.hold_answers();
  const auto release = [](Lock& held) -> Task<bool> {
    co_await held.release();
    co_return true;
  };
  Outcome<bool> released;
  start(release(lock), released);
  ASSERT_TRUE(wait_for_children("/lock", 0));
  proxy_.cut();
  ASSERT_TRUE(run_until_known(released));
  EXPECT_EQ(released.value, true);
}

TEST_F(ZooKeeperConnection, a_set_of_locks_leaves_nothing_behind_when_its_answer_is_lost) {
  run(other_->create("/a", "", kPersistent));
  run(other_->create("/b", "", kPersistent));
  LockSet set(*store_, fixture_.runtime().random);
  set.add("/a", true);
  set.add("/b", true);
  proxy_.hold_answers();
  Outcome<LockSet::Outcome> acquired;
  start(set.try_acquire(), acquired);
  ASSERT_TRUE(wait_for_children("/b", 1));
  proxy_.cut();
  ASSERT_TRUE(run_until_known(acquired));
  EXPECT_EQ(acquired.failure, Kind::unknown_outcome);
  EXPECT_THAT(children("/a"), IsEmpty());
  EXPECT_THAT(children("/b"), IsEmpty());
}

TEST_F(ZooKeeperConnection, a_lost_session_fails_what_waits_for_it) {
  proxy_.refuse(true);
  proxy_.cut();
  ASSERT_TRUE(states_.run_until(suspended));
  Outcome<std::string> created;
  start(store_->create("/late", "", kPersistent), created);
  ASSERT_TRUE(fixture_.expire(*store_));
  proxy_.refuse(false);
  ASSERT_TRUE(states_.run_until(connected));
  EXPECT_THAT(states_.states(), ElementsAre(suspended, expired, connected));
  ASSERT_TRUE(run_until_known(created));
  EXPECT_EQ(created.failure, Kind::session_expired);
  EXPECT_EQ(run(other_->exists("/late")), std::nullopt);
}

// The server then closes each connection of a client that knows later transactions.
TEST_F(ZooKeeperConnection, a_session_ends_when_the_data_of_its_server_are_replaced) {
  test_support::ZooKeeperEnsemble server;
  ZooKeeperOptions options = options_for(server, {0}, Security::plain);
  options.session_timeout = milliseconds(4000);
  const auto store = fixture_.open(options);
  for (int i = 0; i < 20; ++i) run(store->create("/" + std::to_string(i), "", kPersistent));
  StateLog states(fixture_, *store);
  server.kill(0);
  server.erase_data(0);
  server.start(0);
  server.wait_until_serving(0);
  ASSERT_TRUE(states.run_until(connected));
  EXPECT_THAT(states.states(), ElementsAre(suspended, expired, connected));
  EXPECT_EQ(run(store->exists("/0")), std::nullopt);
  run(store->create("/mine", "", CreateMode::ephemeral));
  EXPECT_EQ(run(store->get("/mine")).stat.ephemeral_owner, store->session_id());
}

TEST_F(ZooKeeperConnection, a_store_out_of_reach_can_be_closed) {
  proxy_.refuse(true);
  proxy_.cut();
  ASSERT_TRUE(states_.run_until(suspended));
  Outcome<Entry> waiting;
  start(store_->get("/"), waiting);
  ASSERT_TRUE(fixture_.run_until([this] { return !scope_.empty(); }));
  EXPECT_THROW(run(store_->close()), StoreError);
  EXPECT_EQ(store_->session_state(), closed);
  ASSERT_TRUE(run_until_known(waiting));
  EXPECT_EQ(waiting.failure, Kind::closed);
}

TEST_F(ZooKeeperConnection, a_store_is_closed_after_a_lost_response) {
  const auto say_farewell = [](Store& store) -> Task<bool> {
    co_await store.close();
    co_return true;
  };
  run(store_->create("/mine", "", CreateMode::ephemeral));
  proxy_.hold_answers();
  Outcome<bool> farewell;
  start(say_farewell(*store_), farewell);
  ASSERT_TRUE(wait_for_children("/", 0));
  proxy_.cut();
  ASSERT_TRUE(run_until_known(farewell));
  EXPECT_EQ(farewell.failure, Kind::unknown_outcome);
  EXPECT_EQ(store_->session_state(), closed);
}

TEST_F(ZooKeeperConnection, a_store_may_be_destroyed_by_its_own_event) {
  for (const std::string event : {"resync", "created /a"}) {
    auto doomed = fixture_.open();
    Outcome<Entry> reading;
    Subscription watching = doomed->watch("/", [&doomed, &event](const WatchEvent& reported) {
      if (reported.kind ==
          (event == "resync" ? WatchEvent::Kind::resync : WatchEvent::Kind::created)) {
        doomed.reset();
      }
    });
    start(doomed->get("/"), reading);
    ASSERT_TRUE(run_until_known(reading));
    if (doomed) run(other_->create("/a", "", kPersistent));
    EXPECT_TRUE(fixture_.run_until([&doomed] { return doomed == nullptr; })) << event;
  }
}

TEST_F(ZooKeeperConnection, many_cuts_in_the_midst_of_writes_lose_and_repeat_nothing) {
  run(other_->create("/a", "", kPersistent));
  const auto write = [](Store& store, int& done) -> Task<bool> {
    while (done < 500) {
      try {
        co_await store.set("/a", std::to_string(done + 1), done);
        ++done;
        continue;
      } catch (const StoreError& error) {
        EXPECT_FALSE(error.is_rejection()) << error.what();
      }
      try {
        const Entry entry = co_await store.get("/a");
        done = entry.stat.version;
        EXPECT_EQ(entry.data, done == 0 ? "" : std::to_string(done));
      } catch (const StoreError& error) {
        EXPECT_EQ(error.kind(), Kind::disconnected) << error.what();
      }
    }
    co_return true;
  };
  int done = 0;
  Outcome<bool> written;
  start(write(*store_, done), written);
  for (int next = 50; next < 500; next += 50) {
    ASSERT_TRUE(fixture_.run_until([&] { return done >= next; }));
    proxy_.cut();
  }
  ASSERT_TRUE(run_until_known(written));
  EXPECT_EQ(run(other_->get("/a")).stat.version, 500);
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
