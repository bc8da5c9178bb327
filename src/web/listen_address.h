#pragma once

#include <string>
#include <vector>

namespace nodepool::web {

// Where a server takes connections.
struct ListenAddress {
  enum class Kind {
    plain,  // TCP without encryption
    tls,    // TCP with TLS 1.2 or later
    local,  // a Unix socket: the kernel says whose process the client is
  };

  Kind kind = Kind::plain;
  std::string host = {};  // an address or name; not for `local`
  int port = 0;           // 0: any that is free
  // On the loopback interface: accepted in the header Host, beside `host` and loopback names
  // (web/host_names.h).
  std::vector<std::string> names = {};
  std::string certificate = {};  // for `tls`: PEM files, read again when they change
  std::string key = {};
  std::string path = {};  // for `local`
  unsigned mode = 0660;   // of the file at `path`

  // For logs: "127.0.0.1, port 8005", or the path.
  std::string text() const {
    return kind == Kind::local ? path : host + ", port " + std::to_string(port);
  }
};

}  // namespace nodepool::web
