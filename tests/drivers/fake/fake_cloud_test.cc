#include "drivers/fake/fake_cloud.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nodepool::drivers::fake {
namespace {

using driver::CloudError;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class FakeCloudTest : public testing::Test {
 protected:
  void create(const std::string& id, const std::function<void(ServerSpec&)>& change = {}) {
    ServerSpec spec;
    spec.name = "np" + id;
    spec.flavor = "Fake Flavor";
    if (change) change(spec);
    cloud_.create(id, std::move(spec), /*is_broken=*/false, now_);
  }

  std::string refusal(const std::string& id, const std::function<void(ServerSpec&)>& change,
                      CloudError::Kind kind) {
    try {
      create(id, change);
    } catch (const CloudError& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.what();
    }
    return "accepted";
  }

  FakeServer server(const std::string& id) { return cloud_.server(id, now_).value(); }

  FakeCloud cloud_;
  FakeCloud::TimePoint now_{};
};

TEST_F(FakeCloudTest, a_machine_comes_up_after_a_tenth_of_a_second) {
  create("a");
  EXPECT_EQ(server("a").status, FakeServer::Status::build);
  now_ += milliseconds(99);
  EXPECT_EQ(server("a").status, FakeServer::Status::build);
  now_ += milliseconds(1);
  EXPECT_EQ(server("a").status, FakeServer::Status::active);
  EXPECT_EQ(server("a").resources,
            driver::Resources({{"instances", 1}, {"cores", 4}, {"ram", 8192}}));
}

TEST_F(FakeCloudTest, a_broken_one_does_not_come_up) {
  cloud_.break_next();
  create("a");
  create("b");
  EXPECT_EQ(server("a").status, FakeServer::Status::build);
  now_ += seconds(1);
  EXPECT_EQ(server("a").status, FakeServer::Status::error);
  EXPECT_EQ(server("b").status, FakeServer::Status::active);
}

TEST_F(FakeCloudTest, a_machine_goes_in_its_time) {
  cloud_.behaviour.delete_time = seconds(10);
  create("a");
  cloud_.remove("a", now_);
  now_ += seconds(5);
  cloud_.remove("a", now_);
  EXPECT_THAT(cloud_.servers(now_), SizeIs(1));
  now_ += seconds(5);
  EXPECT_THAT(cloud_.servers(now_), IsEmpty());
  EXPECT_THROW(cloud_.remove("a", now_), CloudError);
}

TEST_F(FakeCloudTest, addresses_depend_on_the_networks) {
  create("plain");
  EXPECT_EQ(server("plain").public_ipv4, "fake");
  EXPECT_EQ(server("plain").private_ipv4, "fake");
  EXPECT_EQ(server("plain").public_ipv6, "");
  create("inside", [](ServerSpec& spec) { spec.networks = {"no-auto-ip-network-name"}; });
  EXPECT_EQ(server("inside").public_ipv4, "");
  EXPECT_EQ(server("inside").private_ipv4, "fake");
  create("six", [](ServerSpec& spec) { spec.networks = {"fake-ipv6-network-name"}; });
  EXPECT_EQ(server("six").public_ipv4, "fake");
  EXPECT_EQ(server("six").public_ipv6, "fake_v6");
  create("unknown", [](ServerSpec& spec) { spec.networks = {"whatever"}; });
  EXPECT_EQ(server("unknown").public_ipv4, "fake");
}

TEST_F(FakeCloudTest, there_are_two_zones) {
  create("a");
  EXPECT_EQ(server("a").spec.zone, "az1");
  create("b", [](ServerSpec& spec) { spec.zone = "az2"; });
  EXPECT_EQ(server("b").spec.zone, "az2");
  EXPECT_EQ(refusal(
                "c", [](ServerSpec& spec) { spec.zone = "az3"; }, CloudError::Kind::failed),
            "no availability zone az3");
}

TEST_F(FakeCloudTest, twenty_machines_fit_and_more_are_refused) {
  for (int i = 0; i < 20; ++i) create(std::to_string(i));
  EXPECT_THAT(refusal("more", {}, CloudError::Kind::quota), StartsWith("Quota exceeded"));
  cloud_.remove("7", now_);
  create("more");
}

TEST_F(FakeCloudTest, volumes_have_a_quota_of_their_own) {
  cloud_.behaviour.limits["volume-gb"] = 100;
  const auto with_volume = [](ServerSpec& spec) { spec.volume_gb = 60; };
  create("a", with_volume);
  EXPECT_EQ(refusal("b", with_volume, CloudError::Kind::quota),
            "Quota exceeded for volume-gb: 60 used + 60 needed, limit 100");
  create("b");
}

TEST_F(FakeCloudTest, there_is_an_image) {
  EXPECT_EQ(cloud_.image("Fake Precise").value().id, "fake-image-id");
  EXPECT_EQ(cloud_.image("fake-image-id").value().name, "Fake Precise");
  EXPECT_FALSE(cloud_.image("Fake Trixie"));
}

TEST(FakeClouds, a_cloud_stays_under_its_name) {
  FakeClouds clouds;
  EXPECT_EQ(clouds.cloud("a"), clouds.cloud("a"));
  EXPECT_NE(clouds.cloud("a"), clouds.cloud("b"));
}

}  // namespace
}  // namespace nodepool::drivers::fake
