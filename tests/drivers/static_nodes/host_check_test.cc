#include "drivers/static_nodes/host_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "nodescan/error.h"

namespace nodepool::drivers::static_nodes {
namespace {

using async::Task;
using std::chrono::seconds;
using testing::ElementsAre;
using TimePoint = async::Clock::TimePoint;

// A host whose first key comes in time, and its others after the deadline.
class SlowHost final : public nodescan::Scanner {
 public:
  explicit SlowHost(async::Clock& clock) : clock_(clock) {}

  Task<nodescan::Address> address(std::string /*host*/, TimePoint deadline) override {
    if (clock_.now() >= deadline) {
      throw nodescan::ScanError(nodescan::ScanError::Kind::timeout, "too late");
    }
    co_return nodescan::Address{"192.0.2.1", false};
  }

  Task<> connectable(std::string /*host*/, std::uint16_t /*port*/, TimePoint /*deadline*/,
                     Attempts /*attempts*/) override {
    co_return;
  }

  Task<std::vector<std::string>> host_keys(std::string /*host*/, std::uint16_t /*port*/,
                                           TimePoint deadline,
                                           nodescan::Progress* /*progress*/) override {
    co_await clock_.sleep_until(deadline + seconds(10));
    co_return std::vector<std::string>{"ssh-ed25519 A", "ssh-rsa B"};
  }

 private:
  async::Clock& clock_;
};

// A host that drops connections: only one of its keys can be read.
class BusyHost final : public nodescan::Scanner {
 public:
  Task<nodescan::Address> address(std::string /*host*/, TimePoint /*deadline*/) override {
    co_return nodescan::Address{"192.0.2.1", false};
  }

  Task<> connectable(std::string /*host*/, std::uint16_t /*port*/, TimePoint /*deadline*/,
                     Attempts /*attempts*/) override {
    co_return;
  }

  Task<std::vector<std::string>> host_keys(std::string /*host*/, std::uint16_t /*port*/,
                                           TimePoint /*deadline*/,
                                           nodescan::Progress* progress) override {
    progress->unread = {{"ssh-rsa", "Connection reset by peer"}};
    co_return std::vector<std::string>{"ssh-ed25519 A"};
  }
};

class HostCheckerTest : public testing::Test {
 protected:
  HostCheckerTest() {
    host_.name = "slow.example.org";
    host_.connection_type = "ssh";
  }

  void settle() {
    while (loop_.poll()) {
    }
  }

  // Runs a call in the background; its result is in `found`.
  template <typename T>
  void begin(Task<T> call, std::optional<T>& found) {
    scope_.spawn("call", keep(std::move(call), found));
    settle();
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  HostChecker checker_{runtime_, std::make_unique<SlowHost>(clock_)};
  Host host_;
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};

 private:
  template <typename T>
  static Task<> keep(Task<T> call, std::optional<T>& found) {
    found = co_await std::move(call);
  }
};

TEST_F(HostCheckerTest, keys_that_are_read_after_the_timeout_count) {
  std::optional<HostFacts> facts;
  begin(checker_.check(host_), facts);
  clock_.advance_to(clock_.now() + seconds(host_.timeout + 11));
  loop_.run(scope_.join());
  ASSERT_TRUE(facts);
  EXPECT_THAT(facts->host_keys, ElementsAre("ssh-ed25519 A", "ssh-rsa B"));
  ASSERT_TRUE(facts->address);
  EXPECT_EQ(facts->address->text, "192.0.2.1");
}

TEST_F(HostCheckerTest, a_configured_key_that_could_not_be_read_is_no_other_key) {
  HostChecker checker(runtime_, std::make_unique<BusyHost>());
  host_.host_keys = {"ssh-rsa B", "ssh-ed25519 A"};
  try {
    loop_.run(checker.check(host_));
    ADD_FAILURE() << "the check succeeded";
  } catch (const nodescan::ScanError& error) {
    EXPECT_TRUE(error.is_inconclusive());
    EXPECT_STREQ(error.what(),
                 "Could not read the ssh-rsa key of slow.example.org: Connection reset by peer");
  }
  host_.host_keys = {"ssh-rsa B", "ssh-ed25519 X"};
  try {
    loop_.run(checker.check(host_));
    ADD_FAILURE() << "the check succeeded";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("host key mismatches: the host does not have the "
                                                  "configured key 'ssh-ed25519 X'"));
  }
  host_.host_keys = {"ssh-ed25519 A"};
  EXPECT_THAT(loop_.run(checker.check(host_)).host_keys, ElementsAre("ssh-ed25519 A"));
}

TEST_F(HostCheckerTest, checks_of_slow_hosts_do_not_delay_an_assignment) {
  std::vector<std::optional<HostFacts>> facts(500);
  for (auto& found : facts) begin(checker_.check(host_), found);
  std::optional<std::string> failure;
  begin(checker_.connect(host_), failure);
  EXPECT_EQ(failure, "");
  loop_.run(scope_.stop());
}

}  // namespace
}  // namespace nodepool::drivers::static_nodes
