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

// Certificates of a CA made for the occasion, in PEM files.
struct Certificates {
  // Makes them in `directory` with the openssl command. Throws std::runtime_error.
  explicit Certificates(const TemporaryDirectory& directory);

  std::filesystem::path ca;
  std::filesystem::path server;  // key and certificate, which is for 127.0.0.1, in one file
  std::filesystem::path client;
  std::filesystem::path client_key;
};

// Real ZooKeeper servers for this test alone, on the loopback interface: one, or an ensemble whose
// members elect a leader. Each has a plain port and a TLS port, which asks for a client's
// certificate; the ports stay the same through stops and starts. What is left running at the end is
// killed.
class ZooKeeperEnsemble {
 public:
  // Makes the configuration and starts the members. Throws std::runtime_error; a missing ZooKeeper
  // is an error, so that a suite does not pass without having tested anything.
  explicit ZooKeeperEnsemble(std::size_t members = 1);
  ~ZooKeeperEnsemble();
  ZooKeeperEnsemble(const ZooKeeperEnsemble&) = delete;
  ZooKeeperEnsemble& operator=(const ZooKeeperEnsemble&) = delete;

  std::size_t size() const { return members_.size(); }
  std::uint16_t plain_port(std::size_t member) const;
  std::uint16_t tls_port(std::size_t member) const;
  const Certificates& certificates() const { return *certificates_; }

  // Starts a member that does not run; see wait_until_serving().
  void start(std::size_t member);

  // Ends a member as a crash would; it keeps its data. Harmless if it does not run.
  void kill(std::size_t member);

  // Stops a member in its tracks with all its connections open, and lets it go on.
  void pause(std::size_t member);
  void resume(std::size_t member);

  // Returns when the member serves clients. Throws std::runtime_error with its log if it does not
  // within a minute.
  void wait_until_serving(std::size_t member);

  // How many packets the member has received from its clients so far. Throws std::runtime_error.
  std::int64_t packets_received(std::size_t member) const;

  // The member that leads. Throws std::runtime_error if there is none.
  std::size_t leader() const;

 private:
  struct Member;

  void configure(Member& member) const;
  // "standalone", "leader", "follower"; empty while it serves nobody.
  static std::string mode(const Member& member);
  // What a server says of itself after `key`; empty if it says nothing.
  static std::string report(const Member& member, std::string_view key);

  TemporaryDirectory directory_;
  std::unique_ptr<Certificates> certificates_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace nodepool::test_support
