#include "planning/starved_requests.h"

#include <gtest/gtest.h>

namespace nodepool::planning {
namespace {

using driver::Resources;

class StarvedRequestsTest : public testing::Test {
 protected:
  static StarvedRequests::ServiceKey key(const std::string& id) {
    model::NodeRequest request;
    request.id = id;
    return request.service_key();
  }

  const StarvedRequests::ServiceKey first_ = key("100-0000000001");
  const StarvedRequests::ServiceKey second_ = key("100-0000000002");
  const StarvedRequests::ServiceKey later_ = key("100-0000000003");
  const Resources plain_ = Resources({{"instances", 1}});
  const Resources with_gpu_ = Resources({{"gpus", 1}, {"instances", 1}});
  StarvedRequests starved_;
};

TEST_F(StarvedRequestsTest, a_request_comes_after_those_that_lack_a_resource_that_it_needs) {
  starved_.add("sky", "gpus", "a", first_);
  starved_.add("sky", "instances", "b", second_);
  EXPECT_EQ(starved_.first_before("sky", with_gpu_, later_), first_);
  EXPECT_EQ(starved_.first_before("sky", plain_, later_), second_);
  EXPECT_EQ(starved_.first_before("sky", plain_, second_), std::nullopt);
  EXPECT_EQ(starved_.first_before("sea", with_gpu_, later_), std::nullopt);
  starved_.remove("sky", "instances", "b", second_);
  EXPECT_EQ(starved_.first_before("sky", plain_, later_), std::nullopt);
}

}  // namespace
}  // namespace nodepool::planning
