#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "async/task.h"
#include "http/error.h"
#include "http/request.h"

namespace nodepool::http {

// How connections are made.
struct TransferOptions {
  std::string ca_file = {};      // PEM, the only ones trusted; empty: the system's
  std::string client_cert = {};  // PEM; empty: none
  std::string client_key = {};
  // The same as texts, for who has them from elsewhere than files; they go over the files.
  std::string ca_pem = {};
  std::string client_cert_pem = {};
  std::string client_key_pem = {};
  bool verify = true;  // the server's certificate and name; false only where an operator says so
  // What http_proxy, https_proxy, no_proxy say is used (curl(1), ENVIRONMENT), unless this is set.
  std::string proxy = {};
  bool is_direct = false;        // through no proxy, whatever else is said
  std::string unix_socket = {};  // path: connections go there, whatever host the URL names
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
  std::size_t largest_body = std::size_t{64} << 20;      // bytes
  std::size_t largest_headers = std::size_t{256} << 10;  // bytes, all together
  long connections_per_host = 16;
};

// Single HTTP exchanges, side by side on the loop, by libcurl: it keeps connections for reuse, uses
// HTTP/2 where the server speaks it, and the proxies of the environment.
class Transfers {
 public:
  Transfers(const async::Executor& executor, TransferOptions options);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // One attempt, within `timeout`. Redirections are answers like others. A cancellation ends a
  // repeatable request; any other runs to its end, because its outcome matters. Throws HttpError,
  // async::Cancelled, and what reading a streamed body throws.
  async::Task<Response> perform(Request request, std::chrono::milliseconds timeout);

 private:
  class Multi;
  std::shared_ptr<Multi> multi_;
};

}  // namespace nodepool::http
