#include "drivers/static_nodes/host_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(HostCheckerTest, keys_that_are_read_after_the_timeout_count) {
  async::EventLoop loop;
  async::VirtualClock clock;
  async::Random random(1);
  const async::Runtime runtime{loop.executor(), clock, random};
  HostChecker checker(runtime, std::make_unique<SlowHost>(clock));
  Host host;
  host.name = "slow.example.org";
  host.connection_type = "ssh";
  HostFacts facts;
  const auto check = [](Task<HostFacts> checking, HostFacts& found) -> Task<> {
    found = co_await std::move(checking);
  };
  async::TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  scope.spawn("check", check(checker.check(host), facts));
  while (loop.poll()) {
  }
  clock.advance_to(clock.now() + seconds(host.timeout + 11));
  loop.run(scope.join());
  EXPECT_THAT(facts.host_keys, ElementsAre("ssh-ed25519 A", "ssh-rsa B"));
  ASSERT_TRUE(facts.address);
  EXPECT_EQ(facts.address->text, "192.0.2.1");
}

}  // namespace
}  // namespace nodepool::drivers::static_nodes
