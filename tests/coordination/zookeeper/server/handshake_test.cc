// Lookups of a server's name, and servers with several addresses.
#include "coordination/zookeeper/handshake.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/coordination/zookeeper/fixture/faults.h"
#include "tests/support/network.h"

namespace nodepool::coordination::zookeeper {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test_support::ReservedPort;
using test_support::TcpListener;
using testing::ElementsAre;
using testing::HasSubstr;

// At an address, for tests with several on one machine.
ResolvedServer at_port(std::uint16_t port) {
  return {{test_support::kLoopback, port}, test_support::kLoopback};
}

class ZooKeeperHandshake : public FaultTest {
 protected:
  ZooKeeperHandshake() : FaultTest(options_for(shared_ensemble(1), {0}, Security::plain)) {}

  OpenedConnection open(std::vector<ResolvedServer> addresses, milliseconds timeout) {
    const ConnectParameters parameters{{}, 0, fixture_.options().session_timeout};
    return run(open_connection(fixture_.runtime().clock, timeout, std::move(addresses), nullptr,
                               parameters));
  }

  // How long the attempts at servers that do not respond take, in virtual time.
  async::Duration time_until_refused(std::vector<ResolvedServer> addresses, milliseconds timeout) {
    async::VirtualClock clock;
    const auto begun = clock.now();
    bool is_refused = false;
    scope_.spawn("connect", try_in_vain(clock, timeout, std::move(addresses), is_refused));
    EXPECT_TRUE(fixture_.run_until([&] {
      const auto next = clock.next_wakeup();
      if (next != async::Clock::TimePoint::max()) clock.advance_to(next);
      return is_refused;
    }));
    return clock.now() - begun;
  }

  static Task<> try_in_vain(async::Clock& clock, milliseconds timeout,
                            std::vector<ResolvedServer> addresses, bool& is_refused) {
    Task<OpenedConnection> opening =
        open_connection(clock, timeout, std::move(addresses), nullptr, {});
    try {
      co_await std::move(opening);
    } catch (const ConnectionError&) {
      is_refused = true;
    }
  }
};

TEST_F(ZooKeeperHandshake, each_address_of_a_server_has_the_whole_of_a_short_timeout) {
  const TcpListener silent(TcpListener::Behaviour::silent);
  const TcpListener hanging(TcpListener::Behaviour::unanswering);
  const ResolvedServer good = at_port(shared_ensemble(1).plain_port(0));
  const OpenedConnection opened =
      open({at_port(silent.port()), at_port(hanging.port()), good}, milliseconds(1000));
  EXPECT_GT(opened.reply.timeout_ms, 0);
}

TEST_F(ZooKeeperHandshake, the_addresses_of_a_server_share_a_long_timeout) {
  struct Row {
    std::size_t addresses;
    milliseconds timeout;
    milliseconds total;
  };
  const Row rows[] = {
      {1, milliseconds(12'000), milliseconds(12'000)},
      {3, milliseconds(12'000), milliseconds(12'000)},
      {6, milliseconds(12'000), milliseconds(18'000)},  // each has 3 s
      {3, milliseconds(500), milliseconds(1500)},
  };
  const TcpListener silent(TcpListener::Behaviour::silent);
  for (const Row& row : rows) {
    const std::vector<ResolvedServer> addresses(row.addresses, at_port(silent.port()));
    EXPECT_EQ(time_until_refused(addresses, row.timeout), row.total)
        << row.addresses << " addresses, " << row.timeout.count() << " ms";
  }
}

TEST_F(ZooKeeperHandshake, the_reasons_of_all_addresses_are_reported) {
  const TcpListener garbage(TcpListener::Behaviour::garbage);
  const ReservedPort unused;
  try {
    open({at_port(garbage.port()), at_port(unused.number())}, milliseconds(200));
    ADD_FAILURE() << "opened";
  } catch (const ConnectionError& error) {
    EXPECT_THAT(error.what(), HasSubstr(":" + std::to_string(garbage.port())));
    EXPECT_THAT(error.what(), HasSubstr(":" + std::to_string(unused.number())));
  }
}

// Asio's resolver reports success to a task that was cancelled during the lookup.
TEST_F(ZooKeeperHandshake, a_lookup_ends_a_cancelled_task) {
  const auto look_up_when_cancelled = [](async::Clock& clock,
                                         std::vector<std::string>& log) -> Task<> {
    try {
      co_await clock.sleep_for(hours(1));
    } catch (const async::Cancelled&) {
      log.emplace_back("cancelled");
    }
    Task<std::vector<ResolvedServer>> looking_up = look_up({test_support::kLoopback, 1});
    const std::vector<ResolvedServer> addresses = co_await std::move(looking_up);
    log.emplace_back("found " + addresses.front().ip);
  };
  std::vector<std::string> log;
  scope_.spawn("look up", look_up_when_cancelled(fixture_.runtime().clock, log));
  while (fixture_.loop().poll()) {
  }
  run(scope_.stop());
  EXPECT_THAT(log, ElementsAre("cancelled"));
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
