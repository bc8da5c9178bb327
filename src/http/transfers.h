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
  // The only trusted authorities, of servers and of proxies with TLS: a PEM file, or a directory
  // with hashed names (openssl-rehash(1)); empty: the system's.
  std::string ca_file = {};
  std::string client_cert = {};  // PEM, read for each request; empty: none
  std::string client_key = {};
  // The same as PEM texts. They override the files.
  std::string ca_pem = {};
  std::string client_cert_pem = {};
  std::string client_key_pem = {};
  bool verify = true;  // certificate and name of server and proxy; false only if configured
  // Overrides the environment variables http_proxy, https_proxy, no_proxy (curl(1), ENVIRONMENT).
  std::string proxy = {};
  bool is_direct = false;        // use no proxy, overrides all other settings
  std::string unix_socket = {};  // path; overrides the host of the URL
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
  std::size_t largest_body = std::size_t{64} << 20;      // bytes
  std::size_t largest_headers = std::size_t{256} << 10;  // bytes, in total
  long connections_per_host = 16;
};

// Concurrent HTTP exchanges on the event loop, with libcurl: reuses connections, and supports
// HTTP/2 and the proxies of the environment.
class Transfers {
 public:
  Transfers(const async::Executor& executor, TransferOptions options);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  // Performs one attempt, within `timeout` (see Request::deadline). Does not follow redirects. A
  // cancellation aborts repeatable requests; others run to their end, because their outcome
  // matters. Throws HttpError, async::Cancelled, and exceptions of reading a streamed body.
  async::Task<Response> perform(Request request, std::chrono::milliseconds timeout);

 private:
  class Multi;
  std::shared_ptr<Multi> multi_;
};

}  // namespace nodepool::http
