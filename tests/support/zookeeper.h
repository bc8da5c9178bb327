#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/network.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::test_support {

// Certificates of a test CA, in PEM files.
struct Certificates {
  // Creates them in `directory` with the openssl command. Throws std::runtime_error.
  explicit Certificates(const TemporaryDirectory& directory);

  std::filesystem::path ca;
  std::filesystem::path server;  // key and certificate for 127.0.0.1 in one file
  std::filesystem::path client;
  std::filesystem::path client_key;
};

// ZooKeeper servers for one test, on the loopback interface: a single one or an ensemble. Each has
// a plain port and a TLS port, which requires a client certificate. Restarts keep the ports. Killed
// on destruction. The programs are Debian's, or those of the distribution of Apache ZooKeeper that
// the environment variable ZOOKEEPER_HOME names.
class ZooKeeperEnsemble {
 public:
  // Writes the configuration and starts the members. Throws std::runtime_error, also if ZooKeeper
  // is missing, so that a suite cannot pass without testing anything.
  explicit ZooKeeperEnsemble(std::size_t members = 1);
  ~ZooKeeperEnsemble();
  ZooKeeperEnsemble(const ZooKeeperEnsemble&) = delete;
  ZooKeeperEnsemble& operator=(const ZooKeeperEnsemble&) = delete;

  std::size_t size() const { return members_.size(); }
  std::uint16_t plain_port(std::size_t member) const;
  std::uint16_t tls_port(std::size_t member) const;
  const Certificates& certificates() const { return *certificates_; }

  // Starts a stopped member; see wait_until_serving().
  void start(std::size_t member);

  // Kills a member, which keeps its data. Does nothing if it does not run.
  void kill(std::size_t member);

  // Deletes the data of a member that does not run.
  void erase_data(std::size_t member);

  // Suspends a member with all its connections open, and resumes it.
  void pause(std::size_t member);
  void resume(std::size_t member);

  // Waits until the member serves clients. Throws std::runtime_error with its log after a minute.
  void wait_until_serving(std::size_t member);

  // The number of packets that the member has received from clients. Throws std::runtime_error.
  std::int64_t packets_received(std::size_t member) const;

  // The version of a member's program: "3.8.0". Throws std::runtime_error.
  std::string version(std::size_t member) const;

  // The leader. Throws std::runtime_error if there is none.
  std::size_t leader() const;

 private:
  struct Member;

  void configure(Member& member) const;
  // "standalone", "leader", "follower"; empty if it does not serve clients.
  static std::string mode(const Member& member);
  // The value of `key` in a server's statistics; empty if it has none.
  static std::string report(const Member& member, std::string_view key);

  TemporaryDirectory directory_;
  std::unique_ptr<Certificates> certificates_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace nodepool::test_support
