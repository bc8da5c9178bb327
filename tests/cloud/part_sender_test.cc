#include "cloud/part_sender.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"

namespace nodepool::cloud {
namespace {

class PartSenderTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kParts = 1000;

  static async::Task<> nothing() { co_return; }

  // A file of kParts bytes, of which only so many are there. It is read in a thread.
  std::shared_ptr<const http::StreamedBody> file(std::uint64_t existing) {
    auto read = [this, existing](std::uint64_t offset, std::size_t most) {
      const std::size_t count = offset < existing ? most : 0;
      return threads_.run("reading", [count] { return std::string(count, 'x'); });
    };
    return std::make_shared<const http::StreamedBody>(kParts, read);
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::ThreadPool threads_{1, "test"};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  PartSender::Plan plan_{.part_size = 1, .max_concurrent = 2};
};

TEST_F(PartSenderTest, can_be_cancelled_though_no_part_needs_to_be_sent) {
  async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
  std::uint64_t skipped = 0;
  const auto skip = [&](std::uint64_t, const std::string&) {
    if (++skipped == 5) scope.cancel();
    return nothing();
  };
  PartSender sender(runtime_, file(kParts), plan_, skip, {});
  scope.spawn("sending", sender.run());
  loop_.run(scope.join());
  EXPECT_LT(skipped, kParts);
}

TEST_F(PartSenderTest, a_file_that_has_become_shorter_is_an_error) {
  const auto send = [](std::uint64_t, const std::string&) { return nothing(); };
  PartSender sender(runtime_, file(10), plan_, send, {});
  EXPECT_THROW(loop_.run(sender.run()), std::runtime_error);
}

}  // namespace
}  // namespace nodepool::cloud
