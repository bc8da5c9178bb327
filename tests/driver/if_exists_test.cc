#include "driver/if_exists.h"

#include <gtest/gtest.h>

#include "async/event_loop.h"

namespace nodepool::driver {
namespace {

using async::Task;

Task<int> number(CloudError::Kind error) {
  throw CloudError(error, "no");
  co_return 1;
}

Task<> nothing(bool exists) {
  if (!exists) throw CloudError(CloudError::Kind::not_found, "no");
  co_return;
}

Task<int> one() {
  co_return 1;
}

TEST(IfExistsTest, only_a_missing_object_is_no_error) {
  async::EventLoop loop;
  EXPECT_EQ(loop.run(if_exists(one())), 1);
  EXPECT_EQ(loop.run(if_exists(number(CloudError::Kind::not_found))), std::nullopt);
  EXPECT_THROW(loop.run(if_exists(number(CloudError::Kind::unknown_outcome))), CloudError);
  EXPECT_TRUE(loop.run(if_exists(nothing(true))));
  EXPECT_FALSE(loop.run(if_exists(nothing(false))));
}

}  // namespace
}  // namespace nodepool::driver
