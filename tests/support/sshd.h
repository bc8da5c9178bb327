#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/network.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::test_support {

// An OpenSSH server for one test, on the loopback interface, with host keys and a client key of its
// own, run by and for the current user.
class Sshd {
 public:
  struct Options {
    std::vector<std::string> host_keys{"ed25519"};  // also "ecdsa-256" (-384, -521), "rsa-2048", …
    std::string address = kLoopback;
    std::vector<std::string> configuration{};  // more lines for sshd_config
    bool start = true;
  };

  // Creates the keys and starts the server, if requested. Throws std::runtime_error, also if sshd
  // is missing, so that a suite cannot pass without testing anything.
  Sshd() : Sshd(Options()) {}
  explicit Sshd(const Options& options);
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;

  const std::string& address() const { return address_; }
  // Reserved, and the same after stop() and start().
  std::uint16_t port() const { return port_.number(); }

  // The public host keys, "<type> <base64>" each, in the order of Options::host_keys.
  const std::vector<std::string>& host_keys() const { return host_keys_; }

  // The private key file for the login of user(), and that user.
  std::filesystem::path client_key() const;
  static std::string user();

  // Replaces the host keys by others of the same types, from the next start() on.
  void replace_host_keys();

  // Waits until the server accepts connections.
  void start();
  // Stops the server gracefully; kill() kills it. Both wait for its end.
  void stop();
  void kill();

  // The server's log since its start.
  std::string log() const;
  // The number of connections since then.
  std::size_t connections() const;

 private:
  void make_host_key(const std::string& kind);
  void write_configuration(const std::vector<std::string>& more) const;
  void end(int signal);

  TemporaryDirectory directory_;
  std::string address_;
  ReservedPort port_;
  std::string program_;
  std::vector<std::filesystem::path> host_key_files_;
  std::vector<std::string> host_keys_;
  std::optional<Child> server_;
};

}  // namespace nodepool::test_support
