#include "web/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/error.hpp>

#include "async/deadline.h"
#include "async/file_changes.h"
#include "telemetry/log_errors.h"
#include "telemetry/version.h"
#include "web/connection.h"
#include "web/error_pages.h"
#include "web/host_names.h"
#include "web/listener.h"
#include "web/origin.h"
#include "web/request_reader.h"

namespace nodepool::web {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using async::Task;

namespace {

// A response is sent in pieces of this size, each with its own timeout.
constexpr std::size_t kPiece = std::size_t{64} << 10;  // bytes

// The default policy of responses: a browser loads and runs nothing.
constexpr std::string_view kPolicy = "default-src 'none'; frame-ancestors 'none'";

// Pauses before retrying to listen, and to accept when no descriptors are left.
constexpr auto kListenPause = std::chrono::seconds(5);
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

template <typename Message>
void set_head(Message& message, const Response& response) {
  message.version(11);
  message.result(response.status);
  message.set(http::field::server, "Nodepool/" + std::string(telemetry::version()));
  message.set("X-Content-Type-Options", "nosniff");
  message.set("Content-Security-Policy", kPolicy);
  for (const auto& [name, value] : response.headers) message.set(name, value);
}

Response overloaded() {
  return {503, {{"Retry-After", "10"}}};
}

}  // namespace

// A request of a client, or why it is rejected.
struct Server::Incoming {
  Request request = {};
  std::optional<BadRequest> refusal = {};
  Exchange exchange = {};
};

// Sends a stream to a client. A part that times out ends it.
class Server::StreamOnConnection final : public StreamSink {
 public:
  StreamOnConnection(Server& server, Connection& connection, bool is_chunked)
      : server_(server), connection_(connection), is_chunked_(is_chunked) {}

  using StreamSink::send;
  Task<bool> send(std::shared_ptr<const std::string> part) override {
    const auto held = server_.client_limits_->reserve_output(connection_.peer(), part);
    const std::chrono::milliseconds limit = server_.limits_.response;
    const async::Clock::TimePoint end = server_.runtime_.clock.now() + limit;
    is_open_ = is_open_ && held;
    if (!is_open_) co_return false;
    Task<bool> sending =
        is_chunked_ ? connection_.write_chunk(part) : connection_.write_more(*part);
    is_open_ = false;  // the caller may catch a timeout
    is_open_ = co_await server_.in_time(std::move(sending), limit, end);
    co_return is_open_;
  }

  bool is_open() const { return is_open_; }

 private:
  Server& server_;
  Connection& connection_;
  bool is_chunked_;
  bool is_open_ = true;
};

Server::Server(const async::Runtime& runtime, const telemetry::Logger& log, Handler handler,
               const Limits& limits, std::shared_ptr<ClientLimits> client_limits, Knows knows)
    : runtime_(runtime),
      log_(log),
      handler_(std::move(handler)),
      limits_(limits),
      client_limits_(std::move(client_limits)),
      knows_(std::move(knows)),
      refusals_(runtime, log),
      scope_(runtime, telemetry::log_errors(log)) {}

Server::Server(const async::Runtime& runtime, const telemetry::Logger& log, Handler handler)
    : Server(runtime, log, std::move(handler), Limits(),
             std::make_shared<ClientLimits>(ClientLimits::Limits())) {}

Server::~Server() = default;

Task<> Server::start(ListenAddress listen_address) {
  listener_ = std::make_unique<Listener>(runtime_.executor, std::move(listen_address));
  co_await listen();
  scope_.spawn("web server", serve());
  if (listener_->listen_address().kind == ListenAddress::Kind::tls) {
    scope_.spawn("web certificate", follow_certificate());
  }
}

std::uint16_t Server::port() const {
  return listener_ ? listener_->port() : std::uint16_t{0};
}

std::string Server::problem() const {
  if (problem_.empty()) return {};
  return fmt::format("the web server cannot listen at {}: {}", listener_->listen_address().text(),
                     problem_);
}

Task<> Server::stop() {
  co_await scope_.stop();
  co_await refusals_.stop();
  listener_.reset();
  problem_.clear();
}

Task<bool> Server::listen() {
  const std::string problem = co_await listener_->open();
  const std::string where = listener_->listen_address().text();
  const bool is_known = std::exchange(problem_, problem) == problem;
  if (problem.empty()) {
    log_.info("Web server listening at {}", where);
    co_return true;
  }
  if (!is_known) log_.error("Web server cannot listen at {}, retrying: {}", where, problem);
  co_return false;
}

Task<> Server::follow_certificate() {
  const ListenAddress& listen_address = listener_->listen_address();
  async::FileChanges files(runtime_, {listen_address.certificate, listen_address.key});
  while (true) {
    co_await files.changed();
    const std::string problem = listener_->read_certificate();
    if (problem.empty()) {
      log_.info("Reloaded the certificate {}", listen_address.certificate);
    } else {
      log_.error("Reloading the certificate failed, keeping the previous one: {}", problem);
    }
  }
}

Task<> Server::serve() {
  while (!listener_->is_open()) {
    co_await runtime_.clock.sleep_for(kListenPause);
    co_await listen();
  }
  while (true) co_await accept();
}

Task<> Server::accept() {
  std::string problem;
  Task<std::unique_ptr<Connection>> accepting = listener_->accept(problem);
  std::shared_ptr<Connection> connection = co_await std::move(accepting);
  if (!connection) {
    refusals_.warn("Accepting a client failed", problem);
    co_await runtime_.clock.sleep_for(kAcceptPause);
    co_return;
  }
  std::unique_ptr<ClientLimits::ConnectionSlot> slot = co_await admit(connection);
  if (!slot) co_return;
  scope_.spawn("web client", serve_connection(std::move(connection), std::move(slot)));
}

// Returns null if the connection is refused. While all connections are busy, waits and accepts no
// other one.
Task<std::unique_ptr<ClientLimits::ConnectionSlot>> Server::admit(
    std::shared_ptr<Connection> connection) {
  const Peer& peer = connection->peer();
  const std::function<void()> disconnect = [client = std::weak_ptr(connection)] {
    if (const std::shared_ptr<Connection> present = client.lock()) present->disconnect();
  };
  while (true) {
    ClientLimits::BadRequest refusal{};
    std::unique_ptr<ClientLimits::ConnectionSlot> slot =
        client_limits_->admit(peer, disconnect, refusal);
    if (slot) co_return slot;
    if (refusal == ClientLimits::BadRequest::origin_is_full) {
      refusals_.warn("Too many connections from one address, refused", origin(peer));
      co_return nullptr;
    }
    refusals_.warn("All connections are busy, a new one waits", origin(peer));
    co_await client_limits_->wait_for_capacity();
  }
}

Task<> Server::serve_connection(std::shared_ptr<Connection> connection,
                                std::unique_ptr<ClientLimits::ConnectionSlot> slot) {
  Task<> eviction = report_eviction(*slot);
  Task<> serving = serve_requests(*connection, *slot);
  try {
    co_await async::with_limit(std::move(eviction), std::move(serving), "a web client");
  } catch (const async::DeadlineExceeded&) {  // slow and evicted clients are disconnected
  }
}

Task<> Server::report_eviction(ClientLimits::ConnectionSlot& slot) {
  co_await slot.until_cut_off();
  refusals_.warn("Too many connections, closed busy ones without a valid token",
                 origin(slot.peer()));
}

Task<> Server::serve_requests(Connection& connection, ClientLimits::ConnectionSlot& slot) {
  const async::Clock::TimePoint deadline = runtime_.clock.now() + limits_.request;
  bool keep_alive = co_await async::with_deadline(runtime_.clock, deadline, connection.handshake(),
                                                  "TLS handshake");
  while (keep_alive) keep_alive = co_await serve_request(connection, slot);
}

// Returns whether the connection stays open for another request. The request is moved to the
// handler, because a stream may take long.
Task<bool> Server::serve_request(Connection& connection, ClientLimits::ConnectionSlot& slot) {
  std::optional<Incoming> incoming = co_await receive(connection, slot);
  if (!incoming) co_return false;
  Response response;
  if (incoming->refusal) {
    response = error_page(incoming->refusal->status, incoming->refusal->reason, incoming->request);
  } else {
    response = co_await handle(std::move(incoming->request));
  }
  Task<bool> sending = response.stream
                           ? send_stream(connection, incoming->exchange, std::move(response))
                           : send(connection, incoming->exchange, std::move(response));
  co_return co_await std::move(sending);
}

// Reads the next request. Returns nothing if the client has disconnected.
Task<std::optional<Server::Incoming>> Server::receive(Connection& connection,
                                                      ClientLimits::ConnectionSlot& slot) {
  Connection::Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(limits_.head));
  parser.body_limit(limits_.body);
  slot.set_idle();
  const boost::system::error_code error =
      co_await async::with_deadline(runtime_.clock, runtime_.clock.now() + limits_.request,
                                    connection.read(parser), "waiting for a request");
  slot.set_busy();
  const bool is_gone = error == http::error::end_of_stream || error == asio::error::eof ||
                       error == asio::error::connection_reset ||
                       error == http::error::partial_message;
  if (is_gone) co_return std::nullopt;
  Incoming incoming;
  incoming.request.peer = connection.peer();
  incoming.refusal = read_request(error, parser.get(), incoming.request);
  if (!incoming.refusal && listener_->is_on_loopback() &&
      !is_host_allowed(incoming.request, listener_->listen_address())) {
    incoming.refusal = BadRequest{
        421, "Unknown host name; use a loopback name or add the name to the configuration."};
  }
  incoming.exchange = {.is_head = incoming.request.method == "HEAD",
                       .is_chunked = parser.get().version() >= 11,
                       .keep_alive = !incoming.refusal && parser.get().keep_alive()};
  if (!incoming.refusal && knows_ && knows_(incoming.request)) slot.set_known();
  co_return incoming;
}

Task<bool> Server::send(Connection& connection, Exchange exchange, Response response) {
  const std::unique_ptr<ClientLimits::Reservation> held =
      client_limits_->reserve_output(connection.peer(), response.body);
  if (!held) {
    refusals_.warn("Too much unread output, refused", origin(connection.peer()));
    response = overloaded();
  }
  Connection::Message message;
  set_head(message, response);
  message.keep_alive(exchange.keep_alive);
  std::string_view rest = response.body ? std::string_view(*response.body) : std::string_view();
  if (response.status != 304) message.content_length(rest.size());
  if (exchange.is_head) rest = {};
  const std::string_view first = rest.substr(0, kPiece);
  if (!first.empty()) message.body() = {first.data(), first.size()};
  const async::Clock::TimePoint end = runtime_.clock.now() + limits_.response;
  bool is_sent = co_await in_time(connection.write(message), limits_.piece, end);
  rest.remove_prefix(first.size());
  while (is_sent && !rest.empty()) {
    const std::string_view piece = rest.substr(0, kPiece);
    is_sent = co_await in_time(connection.write_more(piece), limits_.piece, end);
    rest.remove_prefix(piece.size());
  }
  co_return (is_sent && exchange.keep_alive);
}

Task<bool> Server::send_stream(Connection& connection, Exchange exchange, Response response) {
  std::unique_ptr<ClientLimits::Reservation> held;
  if (!exchange.is_head) {
    held = client_limits_->reserve_stream(connection.peer(), response.client);
    if (!held) {
      refusals_.warn("Too many streams, refused", origin(connection.peer()));
      exchange.keep_alive = false;
      co_return co_await send(connection, exchange, overloaded());
    }
  }
  // Without chunks, only the end of the connection ends the stream.
  exchange.keep_alive = exchange.keep_alive && exchange.is_chunked;
  Connection::Head head;
  set_head(head, response);
  head.keep_alive(exchange.keep_alive);
  if (exchange.is_chunked) head.chunked(true);
  const async::Clock::TimePoint end = runtime_.clock.now() + limits_.response;
  const bool is_begun = co_await in_time(connection.write_head(head), limits_.piece, end);
  if (!is_begun || exchange.is_head) co_return (is_begun && exchange.keep_alive);
  StreamOnConnection sink(*this, connection, exchange.is_chunked);
  Task<> streaming = response.stream(sink);
  co_await std::move(streaming);
  if (!sink.is_open() || !exchange.is_chunked) co_return false;
  const async::Clock::TimePoint last = runtime_.clock.now() + limits_.response;
  const bool is_ended = co_await in_time(connection.write_last_chunk(), limits_.piece, last);
  co_return (is_ended && exchange.keep_alive);
}

Task<bool> Server::in_time(Task<bool> sending, std::chrono::milliseconds limit,
                           async::Clock::TimePoint last) {
  const async::Clock::TimePoint end = std::min(last, runtime_.clock.now() + limit);
  co_return co_await async::with_deadline(runtime_.clock, end, std::move(sending),
                                          "sending a response");
}

Task<Response> Server::handle(Request request) {
  const std::string summary = request_summary(request);
  std::string failure;
  try {
    Task<Response> answering = handler_(std::move(request));
    co_return co_await std::move(answering);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  log_.error("{}: {}", summary, failure);
  co_return Response{500,
                     {{"Content-Type", "text/plain; charset=UTF-8"}},
                     std::make_shared<const std::string>("Internal Server Error\n")};
}

}  // namespace nodepool::web
