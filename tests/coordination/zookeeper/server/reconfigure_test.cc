// A session that switches to other servers and certificates.
#include <gmock/gmock.h>

#include <memory>

#include "tests/coordination/zookeeper/fixture/faults.h"
#include "tests/coordination/zookeeper/fixture/tcp_proxy.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::coordination::zookeeper {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = StoreError::Kind;
using enum SessionState;

class ZooKeeperReconfigure : public FaultTest {
 protected:
  ZooKeeperReconfigure()
      : FaultTest(options_for(shared_ensemble(1), {0}, Security::tls)),
        proxy_(fixture_, shared_ensemble(1).tls_port(0)),
        store_(fixture_.open(through_proxy())),
        states_(fixture_, *store_) {
    run(store_->create("/mine", "", CreateMode::ephemeral));
  }

  ZooKeeperOptions through_proxy() const {
    ZooKeeperOptions options = fixture_.options();
    options.servers = {{"localhost", proxy_.port()}};
    return options;
  }

  // Lists only the other server. Returns whether the connection to the present one stays.
  bool keeps_server_while_refused_by(TcpProxy& other) {
    other.refuse(true);
    ZooKeeperOptions options = fixture_.options();
    options.servers = {{"localhost", other.port()}};
    store_->reconfigure(options);
    return fixture_.run_until([this] { return !store_->kept_server_problem().empty(); });
  }

  // Certificates of another installation.
  TlsFiles foreign_files() {
    const test_support::Certificates others(directory_);
    return {.ca = others.ca, .cert = others.client, .key = others.client_key};
  }

  test_support::TemporaryDirectory directory_;
  TcpProxy proxy_;
  std::unique_ptr<ZooKeeperStore> store_;
  StateLog states_;
};

TEST_F(ZooKeeperReconfigure, the_session_moves_to_a_server_that_is_listed) {
  const std::int64_t session = store_->session_id();
  store_->reconfigure(fixture_.options());
  ASSERT_TRUE(states_.run_until(connected));
  EXPECT_THAT(states_.states(), ElementsAre(suspended, connected));
  EXPECT_THAT(store_->server(), HasSubstr(std::to_string(fixture_.options().servers[0].port)));
  EXPECT_EQ(store_->session_id(), session);
  EXPECT_TRUE(run(store_->exists("/mine")));
  // The previous server is no longer needed.
  proxy_.refuse(true);
  proxy_.cut();
  run(store_->set("/mine", "", kAnyVersion));
  EXPECT_THAT(states_.states(), ElementsAre(suspended, connected));
}

TEST_F(ZooKeeperReconfigure, the_connection_to_a_server_that_stays_listed_stays) {
  ZooKeeperOptions options = through_proxy();
  options.servers.push_back(fixture_.options().servers[0]);
  store_->reconfigure(options);
  run(store_->set("/mine", "", kAnyVersion));
  EXPECT_THAT(states_.states(), IsEmpty());
  proxy_.refuse(true);
  proxy_.cut();
  ASSERT_TRUE(states_.run_until(connected));
  EXPECT_TRUE(run(store_->exists("/mine")));
}

TEST_F(ZooKeeperReconfigure, the_session_stays_until_a_listed_server_responds) {
  const std::int64_t session = store_->session_id();
  TcpProxy other(fixture_, shared_ensemble(1).tls_port(0));
  ASSERT_TRUE(keeps_server_while_refused_by(other));
  EXPECT_THAT(store_->kept_server_problem(),
              HasSubstr("localhost:" + std::to_string(proxy_.port()) + " is no longer configured"));
  run(store_->set("/mine", "", kAnyVersion));
  EXPECT_THAT(states_.states(), IsEmpty());
  other.refuse(false);
  ASSERT_TRUE(states_.run_until(connected));
  EXPECT_THAT(states_.states(), ElementsAre(suspended, connected));
  EXPECT_THAT(store_->server(), HasSubstr(std::to_string(other.port())));
  EXPECT_THAT(store_->kept_server_problem(), IsEmpty());
  EXPECT_EQ(store_->session_id(), session);
  EXPECT_TRUE(run(store_->exists("/mine")));
}

TEST_F(ZooKeeperReconfigure, a_server_that_is_listed_again_is_kept) {
  TcpProxy other(fixture_, shared_ensemble(1).tls_port(0));
  ASSERT_TRUE(keeps_server_while_refused_by(other));
  store_->reconfigure(through_proxy());
  EXPECT_THAT(store_->kept_server_problem(), IsEmpty());
  other.refuse(false);
  run(store_->set("/mine", "", kAnyVersion));
  EXPECT_THAT(states_.states(), IsEmpty());
}

TEST_F(ZooKeeperReconfigure, other_certificates_count_for_the_next_connection) {
  const std::int64_t session = store_->session_id();
  ZooKeeperOptions options = through_proxy();
  options.tls = foreign_files();
  store_->reconfigure(options);
  run(store_->set("/mine", "", kAnyVersion));
  EXPECT_THAT(states_.states(), IsEmpty());
  proxy_.cut();
  ASSERT_TRUE(fixture_.run_until(
      [this] { return store_->problem().contains("certificate verify failed"); }));
  store_->reconfigure(through_proxy());
  ASSERT_TRUE(states_.run_until(connected));
  EXPECT_EQ(store_->session_id(), session);
  EXPECT_TRUE(run(store_->exists("/mine")));
}

TEST_F(ZooKeeperReconfigure, verify_hostname_disconnects_from_a_server_with_another_name) {
  ASSERT_THAT(store_->name_mismatch(), HasSubstr("not for localhost"));
  const std::int64_t session = store_->session_id();
  ZooKeeperOptions options = through_proxy();
  options.verify_hostname = true;
  store_->reconfigure(options);
  ASSERT_TRUE(states_.run_until(suspended));
  EXPECT_THAT(store_->problem(), HasSubstr("not for localhost"));
  options.servers.front().host = "127.0.0.1";
  store_->reconfigure(options);
  ASSERT_TRUE(states_.run_until(connected));
  EXPECT_THAT(store_->name_mismatch(), IsEmpty());
  EXPECT_EQ(store_->session_id(), session);
  store_->reconfigure(options);
  run(store_->set("/mine", "", kAnyVersion));
  EXPECT_THAT(states_.states(), ElementsAre(suspended, connected));
}

TEST_F(ZooKeeperReconfigure, what_cannot_be_used_changes_nothing) {
  const auto refusal = [this](const ZooKeeperOptions& options) {
    try {
      store_->reconfigure(options);
    } catch (const StoreError& error) {
      return std::make_optional(error.kind());
    }
    return std::optional<Kind>();
  };
  ZooKeeperOptions options = fixture_.options();
  options.tls->key = directory_.write("half.key", "-----BEGIN PRIV");
  EXPECT_EQ(refusal(options), Kind::storage);
  options = fixture_.options();
  options.servers.clear();
  EXPECT_EQ(refusal(options), Kind::invalid);
  proxy_.cut();
  ASSERT_TRUE(states_.run_until(connected));
  EXPECT_THAT(store_->server(), HasSubstr(std::to_string(proxy_.port())));
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
