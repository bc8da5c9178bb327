#include "drivers/azure/bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nodepool::drivers::azure {
namespace {

TEST(PasswordTest, a_configured_one_precedes_a_random_one) {
  AzureImage image;
  EXPECT_EQ(password_for(image), "");
  image.generate_password = true;
  EXPECT_THAT(password_for(image), testing::SizeIs(64));
  image.password = "configured";
  EXPECT_EQ(password_for(image), "configured");
}

}  // namespace
}  // namespace nodepool::drivers::azure
