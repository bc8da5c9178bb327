// Opening a store: servers, certificates and chroots, right and wrong ones.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "tests/coordination/zookeeper/fixture/faults.h"
#include "tests/support/network.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::coordination::zookeeper {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using test_support::TcpListener;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Kind = StoreError::Kind;

class ZooKeeperOpen : public FaultTest {
 protected:
  ZooKeeperOpen() : FaultTest(options_for(shared_ensemble(1), {0}, Security::tls)) {}

  // Expects that opening fails with an error of this kind that contains `reason`.
  void expect_refused(Kind kind, const std::string& reason, const ZooKeeperOptions& options) {
    try {
      run(open_store(fixture_.runtime(), options));
      ADD_FAILURE() << "opened, despite " << reason;
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(reason));
    }
  }

  ZooKeeperOptions options_ = fixture_.options();
  test_support::TemporaryDirectory directory_;
};

TEST_F(ZooKeeperOpen, a_server_that_does_not_listen_is_passed_over) {
  const test_support::ReservedPort unused_port;
  const ZooKeeperOptions good = options_;
  options_.servers = {{"127.0.0.1", unused_port.number()}};
  expect_refused(Kind::disconnected, "127.0.0.1:" + std::to_string(unused_port.number()), options_);
  options_.servers.push_back(good.servers.front());
  for (int i = 0; i < 5; ++i) run(fixture_.open(options_)->close());
}

TEST_F(ZooKeeperOpen, servers_that_misbehave_are_given_up) {
  options_.connect_timeout = milliseconds(200);
  for (const bool tls : {false, true}) {
    if (!tls) options_.tls.reset();
    for (const auto behaviour :
         {TcpListener::Behaviour::silent, TcpListener::Behaviour::closing,
          TcpListener::Behaviour::garbage, TcpListener::Behaviour::unanswering}) {
      const TcpListener server(behaviour);
      options_.servers = {{"127.0.0.1", server.port()}};
      expect_refused(Kind::disconnected, "127.0.0.1", options_);
    }
    options_.tls = fixture_.options().tls;
  }
}

TEST_F(ZooKeeperOpen, a_host_that_has_no_address_is_named) {
  options_.servers = {{"host.invalid", 2281}};
  expect_refused(Kind::disconnected, "host.invalid:2281", options_);
}

TEST_F(ZooKeeperOpen, no_server_at_all_is_refused) {
  options_.servers.clear();
  expect_refused(Kind::invalid, "no ZooKeeper server", options_);
}

TEST_F(ZooKeeperOpen, a_server_that_another_ca_has_signed_is_refused) {
  options_.tls->ca = test_support::Certificates(directory_).ca;
  expect_refused(Kind::disconnected, "certificate verify failed", options_);
}

TEST_F(ZooKeeperOpen, a_server_that_is_not_for_its_name_is_reported_or_refused) {
  const auto named = fixture_.open(options_);
  EXPECT_THAT(named->name_mismatch(), IsEmpty());
  options_.verify_hostname = true;
  run(fixture_.open(options_)->close());

  options_.servers.front().host = "localhost";  // the certificate is for its address
  expect_refused(Kind::disconnected, "is for IP Address:127.0.0.1, not for localhost", options_);
  options_.verify_hostname = false;
  const auto misnamed = fixture_.open(options_);
  EXPECT_THAT(misnamed->name_mismatch(), StartsWith(misnamed->server() + ": "));
  EXPECT_THAT(misnamed->name_mismatch(), HasSubstr("not for localhost"));
}

// The first bytes that a client sends to a server.
Task<std::string> first_bytes(tcp::acceptor& acceptor) {
  tcp::socket client = co_await acceptor.async_accept(boost::asio::use_awaitable);
  std::string bytes(4096, '\0');
  bytes.resize(
      co_await client.async_read_some(boost::asio::buffer(bytes), boost::asio::use_awaitable));
  co_return bytes;
}

TEST_F(ZooKeeperOpen, the_client_sends_the_server_name_in_tls) {
  tcp::acceptor acceptor(fixture_.runtime().executor, {boost::asio::ip::address_v4::loopback(), 0});
  const std::uint16_t port = acceptor.local_endpoint().port();
  const auto greeting = [&](const std::string& host) {
    options_.servers = {{host, port}};
    Outcome<std::string> received;
    start(first_bytes(acceptor), received);
    expect_refused(Kind::disconnected, host, options_);
    return received.value.value_or("");
  };
  EXPECT_THAT(greeting("localhost"), HasSubstr("localhost"));
  const std::string to_address = greeting("127.0.0.1");
  EXPECT_THAT(to_address, Not(IsEmpty()));
  EXPECT_THAT(to_address, Not(HasSubstr("127.0.0.1")));
}

TEST_F(ZooKeeperOpen, a_client_that_another_ca_has_signed_gets_no_session) {
  const test_support::Certificates other(directory_);
  options_.tls->cert = other.client;
  options_.tls->key = other.client_key;
  expect_refused(Kind::disconnected, "127.0.0.1", options_);
}

TEST_F(ZooKeeperOpen, plain_text_gets_no_session_at_a_tls_port) {
  options_.tls.reset();
  expect_refused(Kind::disconnected, "127.0.0.1", options_);
}

TEST_F(ZooKeeperOpen, tls_gets_no_session_at_a_plain_port) {
  options_.servers.front().port = shared_ensemble(1).plain_port(0);
  options_.connect_timeout = milliseconds(500);
  expect_refused(Kind::disconnected, "127.0.0.1", options_);
}

TEST_F(ZooKeeperOpen, unusable_tls_files_are_named) {
  const TlsFiles good = *options_.tls;
  const std::string missing = directory_.path() / "missing";
  const std::string broken = directory_.write("broken", "no certificate");
  for (const std::string& bad : {missing, broken}) {
    options_.tls = TlsFiles{bad, good.cert, good.key};
    expect_refused(Kind::storage, bad, options_);
    options_.tls = TlsFiles{good.ca, bad, good.key};
    expect_refused(Kind::storage, bad, options_);
    options_.tls = TlsFiles{good.ca, good.cert, bad};
    expect_refused(Kind::storage, bad, options_);
  }
}

TEST_F(ZooKeeperOpen, a_malformed_chroot_is_refused) {
  options_.chroot = "chroot";
  expect_refused(Kind::invalid, "chroot", options_);
}

TEST_F(ZooKeeperOpen, the_whole_tree_is_reached_without_a_chroot) {
  options_.chroot.clear();
  const auto store = fixture_.open(options_);
  EXPECT_NE(run(store->exists(fixture_.options().chroot)), std::nullopt);
  EXPECT_NE(run(store->exists("/")), std::nullopt);
  std::vector<std::string> reported;
  const Subscription watching =
      store->watch("/", [&reported](const WatchEvent& event) { reported.push_back(event.path); });
  ASSERT_TRUE(fixture_.run_until([&reported] { return !reported.empty(); }));
  const std::string path = run(store->create("/top-", "", CreateMode::persistent_sequential));
  ASSERT_TRUE(fixture_.run_until([&reported, &path] { return reported.back() == path; }));
}

TEST_F(ZooKeeperOpen, the_nodes_of_a_destroyed_store_vanish_at_its_timeout) {
  const auto other = fixture_.open();
  options_.session_timeout = milliseconds(1000);
  auto dying = fixture_.open(options_);
  run(dying->create("/mine", "", CreateMode::ephemeral));
  conformance::WatchLog log(fixture_, *other, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  dying.reset();
  EXPECT_TRUE(log.run_until_last_is("removed /mine"));
}

TEST_F(ZooKeeperOpen, an_idle_session_lives_on) {
  const auto other = fixture_.open();
  options_.session_timeout = milliseconds(1000);
  const auto idle = fixture_.open(options_);
  run(idle->create("/idle", "", CreateMode::ephemeral));
  // The end of a session with the same timeout shows that the time is over.
  auto dying = fixture_.open(options_);
  run(dying->create("/dying", "", CreateMode::ephemeral));
  conformance::WatchLog log(fixture_, *other, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));
  dying.reset();
  ASSERT_TRUE(log.run_until_last_is("removed /dying"));
  EXPECT_NE(run(idle->exists("/idle")), std::nullopt);
  EXPECT_EQ(idle->session_state(), SessionState::connected);
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
