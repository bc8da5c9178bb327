#include "nodescan/scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "async/deadline.h"
#include "async/event_loop.h"
#include "async/task_scope.h"
#include "nodescan/imaginary_hosts.h"
#include "tests/support/network.h"
#include "tests/support/patience.h"
#include "tests/support/sshd.h"

namespace nodepool::nodescan {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test_support::kLoopback;
using test_support::ReservedPort;
using test_support::Sshd;
using test_support::TcpListener;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;
using Attempts = Scanner::Attempts;
using Behaviour = TcpListener::Behaviour;

// How a scan ended, for scans that run side by side.
struct Outcome {
  std::vector<std::string> keys;
  std::optional<ScanError::Kind> error;
  std::string text;
};

std::size_t open_descriptors() {
  const auto descriptors = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(descriptors), end(descriptors)));
}

class ScannerTest : public testing::Test {
 protected:
  // Asio opens descriptors of its own when the first task waits.
  void SetUp() override { loop_.run(clock_.sleep_for(milliseconds(0))); }

  // Works at a pace for tests.
  static ScanLimits quick(std::size_t concurrent_scans = 100) {
    return {.concurrent_scans = concurrent_scans,
            .connect = milliseconds(200),
            .exchange = milliseconds(200),
            .pause = milliseconds(20)};
  }

  async::Clock::TimePoint in(async::Duration duration) { return clock_.now() + duration; }

  std::vector<std::string> host_keys(Scanner& scanner, const std::string& host, std::uint16_t port,
                                     async::Duration patience = test_support::kPatience) {
    auto scan = scanner.host_keys(host, port, in(patience), &progress_);
    return loop_.run(std::move(scan));
  }

  // Expects the scan to fail and returns how.
  Outcome failure_of(async::Task<std::vector<std::string>> scan) {
    Outcome outcome;
    loop_.run(keep_outcome(std::move(scan), outcome));
    EXPECT_TRUE(outcome.error.has_value()) << "the scan succeeded";
    return outcome;
  }
  Outcome failure_of(async::Task<> scan) { return failure_of(without_keys(std::move(scan))); }

  static async::Task<> keep_outcome(async::Task<std::vector<std::string>> scan, Outcome& outcome) {
    try {
      outcome.keys = co_await std::move(scan);
    } catch (const ScanError& error) {
      outcome.error = error.kind();
      outcome.text = error.what();
    }
  }
  static async::Task<std::vector<std::string>> without_keys(async::Task<> scan) {
    co_await std::move(scan);
    co_return std::vector<std::string>();
  }

  // Runs the loop until `condition` holds, and expects it to.
  template <typename Condition>
  void run_until(Condition condition) {
    auto waiting = [](async::Clock& clock, Condition& holds) -> async::Task<> {
      while (!holds()) co_await clock.sleep_for(milliseconds(1));
    };
    auto limited = async::with_deadline(clock_, in(test_support::kPatience),
                                        waiting(clock_, condition), "test");
    EXPECT_NO_THROW(loop_.run(std::move(limited)));
  }

  async::TaskScope::ErrorHandler no_errors() {
    return [](const std::string& name, const std::string& error) {
      ADD_FAILURE() << name << ": " << error;
    };
  }

  // A scan that waits between its first key and its others: the scanner's only slot is taken by a
  // scan of a silent host.
  class InterruptedScan {
   public:
    InterruptedScan(ScannerTest& test, Scanner& scanner, const Sshd& sshd,
                    async::Clock::TimePoint deadline, async::Clock::TimePoint other_deadline)
        : loop_(test.loop_),
          scan_(test.runtime_, test.no_errors()),
          other_(test.runtime_, test.no_errors()) {
      auto keys = scanner.host_keys(kLoopback, sshd.port(), deadline, &test.progress_);
      scan_.spawn("scan", keep_outcome(std::move(keys), outcome_));
      keys = scanner.host_keys(kLoopback, silent_.port(), other_deadline);
      other_.spawn("other", keep_outcome(std::move(keys), other_outcome_));
      test.run_until([this] { return silent_.accepted() >= 1; });
    }

    void resume() { loop_.run(other_.stop()); }
    const Outcome& outcome() const { return outcome_; }
    const Outcome& final_outcome() {
      loop_.run(scan_.join());
      return outcome_;
    }

   private:
    const TcpListener silent_{Behaviour::silent};
    async::EventLoop& loop_;
    Outcome outcome_;
    Outcome other_outcome_;
    async::TaskScope scan_;
    async::TaskScope other_;
  };

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool pool_{2, "test"};
  Progress progress_;
};

TEST_F(ScannerTest, reads_the_only_key_of_a_server) {
  const Sshd sshd({.host_keys = {"ecdsa-256"}});
  NetworkScanner scanner(runtime_, pool_);
  EXPECT_EQ(host_keys(scanner, kLoopback, sshd.port()), sshd.host_keys());
  EXPECT_EQ(progress_.attempts, 1U);
  EXPECT_EQ(progress_.failed_connections, 0U);
  EXPECT_EQ(progress_.failed_negotiations, 0U);
  EXPECT_EQ(progress_.last_failure, "");
  EXPECT_EQ(sshd.connections(), 5U) << "one to see it work, and one for each other key type";
}

TEST_F(ScannerTest, reads_keys_of_all_types_in_the_order_of_preference) {
  const Sshd sshd({.host_keys = {"rsa-2048", "ecdsa-521", "ecdsa-384", "ecdsa-256", "ed25519"}});
  NetworkScanner scanner(runtime_, pool_);
  std::vector<std::string> expected = sshd.host_keys();
  std::ranges::reverse(expected);
  EXPECT_EQ(host_keys(scanner, "localhost", sshd.port()), expected);
  EXPECT_THAT(expected[4], StartsWith("ssh-rsa "));
}

TEST_F(ScannerTest, reads_rsa_keys_whichever_signature_the_server_is_ready_to_make) {
  for (const char* algorithm : {"rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"}) {
    SCOPED_TRACE(algorithm);
    const Sshd sshd({.host_keys = {"rsa-2048"},
                     .configuration = {std::string("HostKeyAlgorithms ") + algorithm}});
    NetworkScanner scanner(runtime_, pool_);
    EXPECT_EQ(host_keys(scanner, kLoopback, sshd.port()), sshd.host_keys());
  }
}

TEST_F(ScannerTest, reads_keys_through_every_kind_of_key_exchange) {
  for (const char* method :
       {"ecdh-sha2-nistp521", "diffie-hellman-group14-sha256", "diffie-hellman-group16-sha512",
        "diffie-hellman-group14-sha1", "diffie-hellman-group1-sha1"}) {
    SCOPED_TRACE(method);
    const Sshd sshd({.configuration = {std::string("KexAlgorithms ") + method}});
    NetworkScanner scanner(runtime_, pool_);
    EXPECT_EQ(host_keys(scanner, kLoopback, sshd.port()), sshd.host_keys());
  }
}

TEST_F(ScannerTest, reads_keys_of_servers_with_only_old_ciphers) {
  for (const char* cipher : {"aes256-cbc", "aes192-cbc", "aes128-cbc", "3des-cbc"}) {
    SCOPED_TRACE(cipher);
    const Sshd sshd({.configuration = {std::string("Ciphers ") + cipher, "MACs hmac-sha1"}});
    NetworkScanner scanner(runtime_, pool_);
    EXPECT_EQ(host_keys(scanner, kLoopback, sshd.port()), sshd.host_keys());
  }
}

TEST_F(ScannerTest, reads_keys_over_ipv6) {
  if (!test_support::has_ipv6_loopback()) GTEST_SKIP() << "this machine has no IPv6";
  const Sshd sshd({.address = test_support::kLoopback6});
  NetworkScanner scanner(runtime_, pool_);
  EXPECT_EQ(host_keys(scanner, test_support::kLoopback6, sshd.port()), sshd.host_keys());
}

TEST_F(ScannerTest, waits_for_a_server_that_is_not_up_yet) {
  Sshd sshd({.start = false});
  NetworkScanner scanner(runtime_, pool_, quick());
  async::TaskScope scope(runtime_, no_errors());
  Outcome outcome;
  auto scan = scanner.host_keys(kLoopback, sshd.port(), in(test_support::kPatience), &progress_);
  scope.spawn("scan", keep_outcome(std::move(scan), outcome));
  run_until([this] { return progress_.attempts >= 2; });
  EXPECT_EQ(progress_.last_failure, "Connection refused");
  sshd.start();
  loop_.run(scope.join());
  EXPECT_EQ(outcome.keys, sshd.host_keys()) << outcome.text;
}

TEST_F(ScannerTest, a_server_that_never_comes_up_is_a_timeout) {
  const ReservedPort port;
  NetworkScanner scanner(runtime_, pool_, quick());
  const std::string place = "127.0.0.1 on port " + std::to_string(port.number());
  const Outcome keys =
      failure_of(scanner.host_keys(kLoopback, port.number(), in(milliseconds(300)), &progress_));
  EXPECT_EQ(keys.error, ScanError::Kind::timeout);
  EXPECT_EQ(keys.text, "Could not contact " + place + ": Connection refused");
  EXPECT_GT(progress_.attempts, 1U);

  const Outcome connection = failure_of(scanner.connectable(
      kLoopback, port.number(), in(milliseconds(300)), Attempts::until_deadline));
  EXPECT_EQ(connection.error, ScanError::Kind::timeout);
  EXPECT_EQ(connection.text, "Could not contact " + place + ": Connection refused");
}

TEST_F(ScannerTest, a_server_without_a_common_key_exchange_is_tried_on_and_said_to_be_one) {
  const Sshd sshd({.configuration = {"KexAlgorithms sntrup761x25519-sha512@openssh.com"}});
  NetworkScanner scanner(runtime_, pool_, quick());
  async::TaskScope scope(runtime_, no_errors());
  Outcome outcome;
  auto scan = scanner.host_keys(kLoopback, sshd.port(), in(test_support::kPatience), &progress_);
  scope.spawn("scan", keep_outcome(std::move(scan), outcome));
  // What is noted here is what the timeout says in the end.
  run_until([this] { return progress_.last_failure.contains("no match for method kex algos"); });
  run_until([this] { return progress_.attempts >= 3; });
  loop_.run(scope.stop());
}

// They would block the event loop.
TEST_F(ScannerTest, a_server_cannot_choose_an_expensive_key_exchange) {
  for (const char* method :
       {"diffie-hellman-group-exchange-sha256", "diffie-hellman-group18-sha512"}) {
    SCOPED_TRACE(method);
    const Sshd sshd({.configuration = {std::string("KexAlgorithms ") + method}});
    NetworkScanner scanner(runtime_, pool_, quick());
    async::TaskScope scope(runtime_, no_errors());
    Outcome outcome;
    auto scan = scanner.host_keys(kLoopback, sshd.port(), in(test_support::kPatience), &progress_);
    scope.spawn("scan", keep_outcome(std::move(scan), outcome));
    run_until([this] { return progress_.last_failure.contains("no match for method kex algos"); });
    loop_.run(scope.stop());
    progress_ = {};
  }
}

TEST_F(ScannerTest, servers_that_speak_no_ssh_are_timeouts_and_leave_nothing_open) {
  NetworkScanner scanner(runtime_, pool_, quick());
  for (const Behaviour behaviour : {Behaviour::silent, Behaviour::closing, Behaviour::garbage,
                                    Behaviour::endless_lines, Behaviour::unanswering}) {
    SCOPED_TRACE(static_cast<int>(behaviour));
    const TcpListener listener(behaviour);
    const std::size_t before = open_descriptors();
    progress_ = {};
    const auto start = clock_.now();
    const Outcome outcome =
        failure_of(scanner.host_keys(kLoopback, listener.port(), in(seconds(1)), &progress_));
    EXPECT_EQ(outcome.error, ScanError::Kind::timeout);
    EXPECT_THAT(outcome.text, StartsWith("Could not contact 127.0.0.1 on port "));
    EXPECT_GT(progress_.attempts, 1U) << "one bad connection must not take all the time";
    EXPECT_LT(clock_.now() - start, test_support::kPatience);
    // The other ends of the connections are in this process, too.
    run_until([&] { return open_descriptors() <= before; });
  }
}

TEST_F(ScannerTest, a_deadline_before_the_end_of_a_key_exchange_says_that_the_port_is_open) {
  const TcpListener listener(Behaviour::silent);
  NetworkScanner scanner(runtime_, pool_, {.exchange = minutes(10)});
  const Outcome outcome = failure_of(scanner.host_keys(kLoopback, listener.port(), in(seconds(1))));
  EXPECT_EQ(outcome.error, ScanError::Kind::timeout);
  EXPECT_EQ(outcome.text, "Could not contact 127.0.0.1 on port " + std::to_string(listener.port()) +
                              ": Connected, but the SSH key exchange timed out");
}

TEST_F(ScannerTest, an_open_port_is_enough_where_no_keys_are_wanted) {
  const TcpListener listener(Behaviour::silent);
  NetworkScanner scanner(runtime_, pool_);
  for (const Attempts attempts : {Attempts::one, Attempts::until_deadline}) {
    loop_.run(
        scanner.connectable(kLoopback, listener.port(), in(test_support::kPatience), attempts));
  }
}

TEST_F(ScannerTest, a_single_attempt_fails_with_the_first_answer) {
  const ReservedPort port;
  NetworkScanner scanner(runtime_, pool_);
  const Outcome outcome = failure_of(
      scanner.connectable(kLoopback, port.number(), in(test_support::kPatience), Attempts::one));
  EXPECT_EQ(outcome.error, ScanError::Kind::unreachable);
  EXPECT_EQ(outcome.text, "Could not connect to 127.0.0.1 on port " +
                              std::to_string(port.number()) + ": Connection refused");
}

TEST_F(ScannerTest, a_single_attempt_may_take_until_the_deadline) {
  const TcpListener listener(Behaviour::unanswering);
  NetworkScanner scanner(runtime_, pool_, quick());
  const auto deadline = in(seconds(1));
  const Outcome outcome =
      failure_of(scanner.connectable(kLoopback, listener.port(), deadline, Attempts::one));
  EXPECT_EQ(outcome.error, ScanError::Kind::timeout);
  EXPECT_GE(clock_.now(), deadline);
}

TEST_F(ScannerTest, what_a_host_is_called_makes_no_difference) {
  NetworkScanner scanner(runtime_, pool_, quick());
  const Outcome outcome =
      failure_of(scanner.host_keys("fake-host-1.invalid", 22, in(test_support::kPatience)));
  EXPECT_EQ(outcome.error, ScanError::Kind::unresolved);
}

TEST_F(ScannerTest, imaginary_hosts_are_not_contacted) {
  ImaginaryHosts scanner({"ssh-rsa KEY"});
  EXPECT_THAT(host_keys(scanner, "no-such-host.invalid", 22), ElementsAre("ssh-rsa KEY"));
  loop_.run(scanner.connectable("no-such-host.invalid", 22, clock_.now(), Attempts::one));
  EXPECT_EQ(loop_.run(scanner.address("no-such-host.invalid", clock_.now())).text, kLoopback);
}

TEST_F(ScannerTest, a_name_that_leads_nowhere_fails_at_once) {
  NetworkScanner scanner(runtime_, pool_);
  const Outcome outcome =
      failure_of(scanner.host_keys("no-such-host.invalid", 22, in(test_support::kPatience)));
  EXPECT_EQ(outcome.error, ScanError::Kind::unresolved);
  EXPECT_THAT(outcome.text, StartsWith("Could not resolve no-such-host.invalid: "));
}

TEST_F(ScannerTest, scans_are_made_in_order_of_arrival) {
  const Sshd sshd;
  NetworkScanner scanner(runtime_, pool_, {.concurrent_scans = 1});
  async::TaskScope scope(runtime_, no_errors());
  std::vector<int> ended;
  auto scan = [](Scanner& on, std::uint16_t port, async::Clock::TimePoint deadline, int number,
                 std::vector<int>& order) -> async::Task<> {
    co_await on.connectable(kLoopback, port, deadline, Attempts::until_deadline);
    order.push_back(number);
  };
  for (int i = 0; i < 5; ++i) {
    scope.spawn("scan", scan(scanner, sshd.port(), in(test_support::kPatience), i, ended));
  }
  loop_.run(scope.join());
  EXPECT_THAT(ended, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(ScannerTest, no_more_scans_run_than_allowed_and_the_wait_counts_against_the_deadline) {
  const TcpListener listener(Behaviour::silent);
  NetworkScanner scanner(runtime_, pool_, {.concurrent_scans = 2});
  async::TaskScope scope(runtime_, no_errors());
  std::vector<Outcome> outcomes(5);
  const auto deadline = in(seconds(1));
  for (Outcome& outcome : outcomes) {
    auto scan = scanner.host_keys(kLoopback, listener.port(), deadline);
    scope.spawn("scan", keep_outcome(std::move(scan), outcome));
  }
  loop_.run(scope.join());
  EXPECT_LT(clock_.now(), deadline + seconds(30));
  EXPECT_EQ(listener.most_open(), 2U);
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error, ScanError::Kind::timeout);
  EXPECT_THAT(outcomes[4].text, HasSubstr("Still queued behind other scans"));
}

TEST_F(ScannerTest, the_deadline_may_be_for_the_first_key_alone) {
  const Sshd sshd({.host_keys = {"ed25519", "ecdsa-256"}});
  async::VirtualClock clock;
  const async::Runtime runtime{loop_.executor(), clock, random_};
  NetworkScanner scanner(runtime, pool_,
                         {.concurrent_scans = 1, .deadline = ScanLimits::Deadline::first_key});
  InterruptedScan scan(*this, scanner, sshd, clock.now() + seconds(5), clock.now() + minutes(10));
  EXPECT_THAT(scan.outcome().keys, testing::IsEmpty());
  clock.advance_to(clock.now() + seconds(6));
  scan.resume();
  EXPECT_EQ(scan.final_outcome().keys, sshd.host_keys()) << scan.outcome().text;
}

// A busy SSH server drops connections for a moment.
TEST_F(ScannerTest, another_key_is_read_in_a_second_attempt_after_a_pause) {
  Sshd sshd({.host_keys = {"ed25519", "ecdsa-256"}});
  async::VirtualClock clock;
  const async::Runtime runtime{loop_.executor(), clock, random_};
  NetworkScanner scanner(runtime, pool_,
                         {.concurrent_scans = 1, .deadline = ScanLimits::Deadline::first_key});
  InterruptedScan scan(*this, scanner, sshd, clock.now() + minutes(10), clock.now() + minutes(10));
  sshd.stop();
  scan.resume();
  run_until([&] { return progress_.failed_connections == 1; });
  sshd.start();
  while (loop_.poll()) {
  }
  EXPECT_EQ(sshd.connections(), 0U);
  clock.advance_to(clock.now() + seconds(1));
  EXPECT_EQ(scan.final_outcome().keys, sshd.host_keys()) << scan.outcome().text;
  EXPECT_THAT(progress_.unread, testing::IsEmpty());
}

TEST_F(ScannerTest, key_types_that_could_not_be_read_are_reported) {
  Sshd sshd;
  ScanLimits limits = quick(1);
  limits.deadline = ScanLimits::Deadline::first_key;
  NetworkScanner scanner(runtime_, pool_, limits);
  InterruptedScan scan(*this, scanner, sshd, in(test_support::kPatience),
                       in(test_support::kPatience));
  sshd.stop();
  scan.resume();
  EXPECT_EQ(scan.final_outcome().keys, sshd.host_keys()) << scan.outcome().text;
  EXPECT_THAT(progress_.unread, ElementsAre(Pair("ecdsa-sha2-nistp256", "Connection refused"),
                                            Pair("ecdsa-sha2-nistp384", "Connection refused"),
                                            Pair("ecdsa-sha2-nistp521", "Connection refused"),
                                            Pair("ssh-rsa", "Connection refused")));
}

TEST_F(ScannerTest, a_cancelled_scan_passes_its_turn_on) {
  const TcpListener silent(Behaviour::silent);
  NetworkScanner scanner(runtime_, pool_, {.concurrent_scans = 1});
  async::TaskScope holder(runtime_, no_errors());
  async::TaskScope waiter(runtime_, no_errors());
  async::TaskScope last(runtime_, no_errors());
  Outcome outcomes[3];
  Outcome* outcome = outcomes;
  auto keys = scanner.host_keys(kLoopback, silent.port(), in(test_support::kPatience));
  holder.spawn("holder", keep_outcome(std::move(keys), *outcome++));
  run_until([&] { return silent.accepted() == 1; });
  keys = scanner.host_keys(kLoopback, silent.port(), in(test_support::kPatience));
  waiter.spawn("waiter", keep_outcome(std::move(keys), *outcome++));
  auto connection = scanner.connectable(kLoopback, silent.port(), in(test_support::kPatience),
                                        Attempts::until_deadline);
  last.spawn("last", keep_outcome(without_keys(std::move(connection)), *outcome));
  while (loop_.poll()) {
  }
  // The turn reaches the waiter in the moment in which it is cancelled.
  holder.cancel();
  waiter.cancel();
  loop_.run(last.join());
  EXPECT_FALSE(outcome->error) << outcome->text;
  loop_.run(holder.join());
  loop_.run(waiter.join());
}

TEST_F(ScannerTest, cancellation_leaves_nothing_open) {
  const TcpListener silent(Behaviour::silent);
  const TcpListener unanswering(Behaviour::unanswering);
  NetworkScanner scanner(runtime_, pool_, {.concurrent_scans = 30});
  const std::size_t before = open_descriptors();
  async::TaskScope scope(runtime_, no_errors());
  Outcome outcomes[50];
  for (int i = 0; i < 50; ++i) {
    const TcpListener& listener = i < 15 ? unanswering : silent;
    auto scan = scanner.host_keys(kLoopback, listener.port(), in(test_support::kPatience));
    scope.spawn("scan", keep_outcome(std::move(scan), outcomes[i]));
  }
  run_until([&] { return silent.accepted() == 15; });
  EXPECT_GE(open_descriptors(), before + 30);
  loop_.run(scope.stop());
  run_until([&] { return open_descriptors() <= before; });
}

// A busy launcher: 1,000 machines, of which most come up and some never do.
TEST_F(ScannerTest, a_thousand_hosts_side_by_side_stay_within_the_limits) {
  const Sshd sshds[3];
  const TcpListener open_port(Behaviour::closing);
  const TcpListener no_ssh(Behaviour::garbage);
  const std::size_t before = open_descriptors();
  NetworkScanner scanner(runtime_, pool_);
  async::TaskScope scope(runtime_, no_errors());
  constexpr int kHosts = 1000;
  std::vector<Outcome> outcomes(kHosts);
  for (int i = 0; i < kHosts; ++i) {
    async::Task<std::vector<std::string>> scan;
    if (i % 20 == 0) {
      scan = scanner.host_keys(kLoopback, no_ssh.port(), in(seconds(10)));
    } else if (i % 10 == 1) {
      scan = scanner.host_keys(kLoopback, sshds[i / 10 % 3].port(), in(test_support::kPatience));
    } else {
      scan = without_keys(scanner.connectable(
          kLoopback, open_port.port(), in(test_support::kPatience), Attempts::until_deadline));
    }
    scope.spawn("scan", keep_outcome(std::move(scan), outcomes[i]));
  }
  std::size_t most = 0;
  run_until([&] {
    most = std::max(most, open_descriptors());
    return scope.empty();
  });
  // Two for each scan, one for the other end of those that stay open in this process.
  EXPECT_LE(most, before + 300);
  for (int i = 0; i < kHosts; ++i) {
    if (i % 20 == 0) {
      EXPECT_EQ(outcomes[i].error, ScanError::Kind::timeout);
      continue;
    }
    EXPECT_FALSE(outcomes[i].error) << i << ": " << outcomes[i].text;
    if (i % 10 == 1) EXPECT_EQ(outcomes[i].keys, sshds[i / 10 % 3].host_keys());
  }
  run_until([&] { return open_descriptors() <= before; });
}

}  // namespace
}  // namespace nodepool::nodescan
