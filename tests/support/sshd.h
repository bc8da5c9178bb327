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

// A real OpenSSH server for this test alone: on the loopback interface, with host keys and a client
// key of its own, run by and open to the present user.
class Sshd {
 public:
  struct Options {
    std::vector<std::string> host_keys{"ed25519"};  // also "ecdsa-256" (-384, -521), "rsa-2048", …
    std::string address = kLoopback;
    std::vector<std::string> configuration{};  // more lines for sshd_config
    bool start = true;
  };

  // Makes the keys, and starts the server unless told otherwise. Throws std::runtime_error; a
  // missing sshd is an error, so that a suite does not pass without having tested anything.
  Sshd() : Sshd(Options()) {}
  explicit Sshd(const Options& options);
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;

  const std::string& address() const { return address_; }
  // The same through stop() and start(); nobody else gets it meanwhile.
  std::uint16_t port() const { return port_.number(); }

  // The public host keys, "<type> <base64>" each, in the order of Options::host_keys.
  const std::vector<std::string>& host_keys() const { return host_keys_; }

  // The private key file that logs the user() in, and that user.
  std::filesystem::path client_key() const;
  static std::string user();

  // Has other host keys of the same kinds from the next start() on.
  void replace_host_keys();

  // Returns when the server accepts connections.
  void start();
  // Ends the server in an orderly way; kill() does not give it the time. Both wait for its end.
  void stop();
  void kill();

  // What the server has logged since it was started.
  std::string log() const;
  // How many connections it has served since then.
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
