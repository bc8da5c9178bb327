#include "nodescan/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "nodescan/error.h"
#include "tests/support/patience.h"

namespace nodepool::nodescan {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::Optional;

class AddressTest : public testing::Test {
 protected:
  Address resolve_within(async::ThreadPool& pool, const std::string& host,
                         async::Duration patience = test_support::kPatience) {
    return loop_.run(resolve(runtime_, pool, host, clock_.now() + patience));
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
};

TEST_F(AddressTest, distinguishes_addresses_from_names) {
  EXPECT_THAT(parse_address("192.0.2.7"), Optional(Address{"192.0.2.7", false}));
  EXPECT_THAT(parse_address("2001:DB8::1"), Optional(Address{"2001:db8::1", true}));
  EXPECT_EQ(parse_address("example.org"), std::nullopt);
  EXPECT_EQ(parse_address("192.0.2"), std::nullopt);
  EXPECT_EQ(parse_address(""), std::nullopt);
}

TEST_F(AddressTest, resolves_names_on_a_thread) {
  async::ThreadPool pool(1, "test");
  const Address address = resolve_within(pool, "localhost");
  EXPECT_EQ(address.is_ipv6 ? "::1" : "127.0.0.1", address.text);
}

TEST_F(AddressTest, reports_names_that_lead_nowhere) {
  async::ThreadPool pool(1, "test");
  for (const char* host : {"", "no-such-host.invalid"}) {
    try {
      resolve_within(pool, host);
      ADD_FAILURE() << host << " was resolved";
    } catch (const ScanError& error) {
      EXPECT_EQ(error.kind(), ScanError::Kind::unresolved) << error.what();
    }
  }
}

TEST_F(AddressTest, does_not_wait_for_a_stuck_resolver) {
  std::promise<void> resume;
  async::ThreadPool pool(1, "test");
  async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
  auto occupy = [](async::ThreadPool& threads, std::shared_future<void> until) -> async::Task<> {
    auto call = [until] { until.wait(); };
    co_await threads.run("test", std::move(call));
  };
  scope.spawn("occupy the only thread", occupy(pool, resume.get_future().share()));
  while (loop_.poll()) {
  }
  EXPECT_EQ(resolve_within(pool, "127.0.0.1").text, "127.0.0.1") << "needs no thread";
  try {
    resolve_within(pool, "localhost", milliseconds(50));
    ADD_FAILURE() << "who has answered?";
  } catch (const ScanError& error) {
    EXPECT_EQ(error.kind(), ScanError::Kind::queued);
    EXPECT_STREQ(error.what(), "Still queued behind other lookups: localhost");
  }
  resume.set_value();
  loop_.run(scope.join());
}

}  // namespace
}  // namespace nodepool::nodescan
