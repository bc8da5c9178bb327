#pragma once

#include <set>
#include <string>
#include <vector>

namespace nodepool::web {

// The address at which a server listens.
struct ListenAddress {
  enum class Kind {
    plain,  // TCP without encryption
    tls,    // TCP with TLS 1.2 or later
    local,  // a Unix socket: the kernel tells the user id of the client
  };

  Kind kind = Kind::plain;
  // An address, IPv6 also in brackets, or a name; empty: the loopback address. Not for `local`.
  std::string host = {};
  int port = 0;  // 0: any free port
  // On the loopback interface: further names that are accepted in the Host header
  // (web/host_names.h).
  std::vector<std::string> names = {};
  // Paths whose content pages of all sites may read: any Host is accepted.
  std::set<std::string> public_paths = {};
  std::string certificate = {};  // for `tls`: PEM files, reloaded when they change
  std::string key = {};
  std::string path = {};  // for `local`
  unsigned mode = 0660;   // of the file at `path`

  // For logs: "127.0.0.1, port 8005", or the path.
  std::string text() const {
    return kind == Kind::local ? path : host + ", port " + std::to_string(port);
  }
};

}  // namespace nodepool::web
