#include "cloud/optional_permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "async/event_loop.h"
#include "driver/cloud_error.h"

namespace nodepool::cloud {
namespace {

using driver::CloudError;
using Kind = CloudError::Kind;
using testing::ElementsAre;

constexpr OptionalPermission kList{.name = "s3:ListBucket",
                                   .consequence = "uploads are not resumed"};
constexpr OptionalPermission kTag{.name = "ec2:CreateTags", .consequence = "images have no tags"};

async::Task<int> list(std::optional<Kind> failure) {
  if (failure) throw CloudError(*failure, "list: HTTP 403");
  co_return 7;
}

async::Task<> tag(std::optional<Kind> failure) {
  if (failure) throw CloudError(*failure, "tag: HTTP 403");
  co_return;
}

class OptionalPermissionsTest : public testing::Test {
 protected:
  std::optional<int> list_if_permitted(std::optional<Kind> failure) {
    return loop_.run(permissions_.if_permitted(list(failure), kList));
  }
  bool tag_if_permitted(std::optional<Kind> failure) {
    return loop_.run(permissions_.if_permitted(tag(failure), kTag));
  }

  async::EventLoop loop_;
  std::vector<std::string> log_;
  OptionalPermissions permissions_{telemetry::Logger(
      telemetry::Log::to_consumer([this](telemetry::LogLevel, std::string_view,
                                         std::string_view text) { log_.emplace_back(text); }),
      "test")};
};

TEST_F(OptionalPermissionsTest, permitted_calls_have_their_results) {
  EXPECT_EQ(list_if_permitted({}), 7);
  EXPECT_TRUE(tag_if_permitted({}));
  EXPECT_THAT(log_, ElementsAre());
}

TEST_F(OptionalPermissionsTest, each_absent_permission_is_reported_once) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(list_if_permitted(Kind::permanent), std::nullopt);
    EXPECT_FALSE(tag_if_permitted(Kind::permanent));
  }
  EXPECT_THAT(
      log_,
      ElementsAre("Without the permission s3:ListBucket, uploads are not resumed: list: HTTP 403",
                  "Without the permission ec2:CreateTags, images have no tags: tag: HTTP 403"));
}

TEST_F(OptionalPermissionsTest, other_failures_stay_failures) {
  EXPECT_THROW(list_if_permitted(Kind::transient), CloudError);
  EXPECT_THROW(tag_if_permitted(Kind::failed), CloudError);
  EXPECT_THAT(log_, ElementsAre());
}

}  // namespace
}  // namespace nodepool::cloud
