#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "telemetry/log.h"
#include "web/client_limits.h"
#include "web/listen_address.h"
#include "web/message.h"
#include "web/rate_limited_log.h"

namespace nodepool::web {

class Connection;
class Listener;

// An HTTP/1.1 server on the event loop (Boost.Beast). ClientLimits, which several servers may
// share, limit connections, streams and memory. Limits bound the size of requests and the time for
// sending them and for reading the response.
class Server {
 public:
  // Handles a request. Exceptions are logged; the client gets 500.
  using Handler = std::function<async::Task<Response>(Request request)>;

  // Whether a request has a valid token: its connection is not evicted for another one.
  using Knows = std::function<bool(const Request& request)>;

  struct Limits {
    std::size_t head = std::size_t{16} << 10;    // bytes of request line and headers
    std::size_t body = std::size_t{64} << 10;    // bytes
    std::chrono::milliseconds request{30'000};   // from waiting for it to its end
    std::chrono::milliseconds response{60'000};  // for reading it, or a part of a stream
    std::chrono::milliseconds piece{15'000};     // for reading the next 64 KiB of a response
  };

  // Without `knows`, no request has a valid token.
  Server(const async::Runtime& runtime, const telemetry::Logger& log, Handler handler,
         const Limits& limits, std::shared_ptr<ClientLimits> client_limits, Knows knows = {});
  // The same with default limits that are not shared.
  Server(const async::Runtime& runtime, const telemetry::Logger& log, Handler handler);
  ~Server();

  // Starts to listen. If that fails, logs the error and retries until it succeeds: a daemon must
  // not end because of its web server. The socket file of a dead process is replaced.
  async::Task<> start(ListenAddress listen_address);

  // The TCP port at which it listens; 0 if it does not yet.
  std::uint16_t port() const;

  // Why it does not listen, as a sentence; empty: it listens, or has not tried to.
  std::string problem() const;

  // Closes all connections.
  async::Task<> stop();

 private:
  class StreamOnConnection;
  struct Incoming;

  // What the response to a request depends on.
  struct Exchange {
    bool is_head = false;     // the response has no body
    bool is_chunked = false;  // the client understands a stream in chunks
    bool keep_alive = false;  // the connection stays open for another request
  };

  async::Task<bool> listen();
  async::Task<> serve();
  async::Task<> accept();
  async::Task<> follow_certificate();
  async::Task<std::unique_ptr<ClientLimits::ConnectionSlot>> admit(
      std::shared_ptr<Connection> connection);
  async::Task<> serve_connection(std::shared_ptr<Connection> connection,
                                 std::unique_ptr<ClientLimits::ConnectionSlot> slot);
  async::Task<> serve_requests(Connection& connection, ClientLimits::ConnectionSlot& slot);
  async::Task<> report_eviction(ClientLimits::ConnectionSlot& slot);
  async::Task<bool> serve_request(Connection& connection, ClientLimits::ConnectionSlot& slot);
  async::Task<std::optional<Incoming>> receive(Connection& connection,
                                               ClientLimits::ConnectionSlot& slot);
  async::Task<bool> send(Connection& connection, Exchange exchange, Response response);
  async::Task<bool> send_stream(Connection& connection, Exchange exchange, Response response);
  async::Task<bool> in_time(async::Task<bool> sending, std::chrono::milliseconds limit,
                            async::Clock::TimePoint last);
  async::Task<Response> handle(Request request);

  async::Runtime runtime_;
  telemetry::Logger log_;
  Handler handler_;
  Limits limits_;
  std::shared_ptr<ClientLimits> client_limits_;
  Knows knows_;
  std::unique_ptr<Listener> listener_;
  std::string problem_;  // why it does not listen; empty: it listens
  RateLimitedLog refusals_;
  async::TaskScope scope_;
};

}  // namespace nodepool::web
