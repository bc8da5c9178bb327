// Builders on ZooKeeper as users run them, and what becomes of their work when servers go.

#include <signal.h>

#include <optional>
#include <string>

#include "tests/integration/builder_store.h"
#include "tests/integration/zookeeper/site.h"

namespace nodepool::integration {
namespace {

using coordination::zookeeper::options_for;
using coordination::zookeeper::Security;
using coordination::zookeeper::shared_ensemble;
using coordination::zookeeper::ZooKeeperFixture;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Seconds: the sessions of builders that are killed end soon, but not while a busy host makes a
// server slow.
constexpr char kShort[] = "2.0";
constexpr char kEnough[] = "4.0";

class ZooKeeperRecords final : public SharedRecords {
 public:
  std::string keys() override {
    const test_support::ZooKeeperEnsemble& ensemble = shared_ensemble(3);
    return zookeeper_keys(ensemble,
                          {ensemble.tls_port(0), ensemble.tls_port(1), ensemble.tls_port(2)},
                          fixture_.options().chroot, kEnough);
  }

 private:
  ZooKeeperFixture fixture_{options_for(shared_ensemble(3), {0, 1, 2}, Security::tls)};
};

class BuilderOnZooKeeper : public ZooKeeperSite {
 protected:
  // A builder that reaches ZooKeeper through the proxy only, with this session timeout in seconds,
  // and is in the midst of a build.
  void begin_build(const std::string& timeout) {
    host_.emplace(zookeeper_keys({proxy_.port()}, timeout));
    host_->hold();
    host_->start();
    people_.wait_for("dib-image-list", "building");
    host_->wait_for_half_an_image();
  }

  ProxyThread proxy_{ensemble_.tls_port(0)};
  BuilderHost people_{zookeeper_keys()};  // for commands only
  std::optional<BuilderHost> host_;
};

TEST_F(BuilderOnZooKeeper, a_build_counts_that_has_ended_while_no_server_answered) {
  begin_build("30.0");
  const std::string id = people_.records("dib-image-list").at(0).at("id");
  proxy_.sever();
  host_->end_hold();
  host_->commands().wait_until("a whole image", [&] { return host_->files().size() == 4; });
  EXPECT_THAT(people_.records("dib-image-list", "building"), SizeIs(1));
  proxy_.restore();
  host_->expect_good_end();
  EXPECT_EQ(people_.records("dib-image-list").at(0).at("id"), id);
}

TEST_F(BuilderOnZooKeeper, a_build_fails_with_its_session_and_is_repeated) {
  begin_build(kShort);
  const std::string id = people_.records("dib-image-list").at(0).at("id");
  proxy_.sever();
  wait_until("the end of the session", [this] { return components("builder").empty(); });
  proxy_.restore();
  host_->wait_for_output("failed: the session with the store expired");
  people_.wait_for("dib-image-list", "failed");
  host_->commands().wait_until("no files", [this] { return host_->files().size() == 1; });
  host_->end_hold();
  ASSERT_EQ(people_.commands().nodepool({"image-build", "deb"}).status, 0);
  host_->expect_good_end();
  EXPECT_NE(people_.records("dib-image-list").at(0).at("id"), id);
  wait_until("its registration", [this] { return components("builder").size() == 1; });
}

TEST_F(BuilderOnZooKeeper, all_servers_are_gone_for_a_while_in_a_build) {
  begin_build(kShort);
  for (std::size_t i = 0; i < ensemble_.size(); ++i) ensemble_.kill(i);
  host_->end_hold();
  host_->commands().wait_until("a whole image", [&] { return host_->files().size() == 4; });
  for (std::size_t i = 0; i < ensemble_.size(); ++i) ensemble_.start(i);
  for (std::size_t i = 0; i < ensemble_.size(); ++i) ensemble_.wait_until_serving(i);
  people_.commands().wait_until("the end of the build", [this] {
    return people_.records("dib-image-list", "building").empty();
  });
  // It counts if the session has lasted, which is up to the servers.
  if (!people_.records("dib-image-list", "failed").empty()) {
    ASSERT_EQ(people_.commands().nodepool({"image-build", "deb"}).status, 0);
  }
  host_->expect_good_end();
}

// The lock is gone, so the record is taken for that of a builder that has died.
TEST_F(BuilderOnZooKeeper, an_upload_with_an_expired_session_leaves_nothing_behind) {
  host_.emplace(zookeeper_keys({proxy_.port()}, kShort));
  host_->configure({.latency = "2"});
  host_->start();
  people_.wait_for("image-list", "uploading");
  proxy_.sever();
  wait_until("the end of the session", [this] { return components("builder").empty(); });
  proxy_.restore();
  host_->expect_good_end();
}

TEST_F(BuilderOnZooKeeper, it_ends_in_a_build_although_no_server_answers) {
  begin_build("2.0");
  proxy_.sever();
  EXPECT_EQ(host_->stop(SIGTERM), 0);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(ZooKeeper, BuilderOnStore,
                         testing::Values(store_for_builders<ZooKeeperRecords>()));

}  // namespace nodepool::integration
