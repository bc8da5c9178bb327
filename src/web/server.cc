#include "web/server.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/error.hpp>

#include "async/deadline.h"
#include "async/file_watch.h"
#include "async/finally.h"
#include "telemetry/version.h"
#include "web/connection.h"
#include "web/error_pages.h"
#include "web/listener.h"

namespace nodepool::web {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using async::Task;

namespace {

// Before another attempt to listen, or to accept when there are no descriptors left.
constexpr auto kListenPause = std::chrono::seconds(5);
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return lower;
}

// False: what it asks for cannot be understood.
bool read_request(http::request<http::string_body>& message, Request& request) {
  request.method = std::string(message.method_string());
  for (const auto& field : message) {
    request.headers.emplace(lower_case(field.name_string()), std::string(field.value()));
  }
  if (!parse_target(message.target(), request)) return false;
  constexpr std::string_view kForm = "application/x-www-form-urlencoded";
  const std::string* type = request.header("content-type");
  if (type != nullptr && type->starts_with(kForm)) add_parameters(message.body(), request);
  request.body = std::move(message.body());
  return true;
}

unsigned status_of(const boost::system::error_code& error) {
  if (error == http::error::body_limit) return 413;
  return error == http::error::header_limit ? 431 : 400;
}

template <typename Message>
void begin_answer(Message& message, const Response& response) {
  message.version(11);
  message.result(response.status);
  message.set(http::field::server, "Nodepool/" + std::string(telemetry::version()));
  for (const auto& [name, value] : response.headers) message.set(name, value);
}

}  // namespace

// A stream's way to its client: a part that is not taken in time ends it.
class Server::StreamOnConnection final : public StreamSink {
 public:
  StreamOnConnection(Server& server, Connection& connection)
      : server_(server), connection_(connection) {}

  using StreamSink::send;
  Task<bool> send(std::shared_ptr<const std::string> part) override {
    async::Clock& clock = server_.runtime_.clock;
    is_open_ = is_open_ && co_await async::with_deadline(
                               clock, clock.now() + server_.limits_.answer,
                               connection_.write_chunk(std::move(part)), "sending a part");
    co_return is_open_;
  }

  bool is_open() const { return is_open_; }

 private:
  Server& server_;
  Connection& connection_;
  bool is_open_ = true;
};

Server::Server(const async::Runtime& runtime, const telemetry::Logger& log, Handler handler,
               const Limits& limits)
    : runtime_(runtime),
      log_(log),
      handler_(std::move(handler)),
      limits_(limits),
      scope_(runtime, [log](const std::string& name, const std::string& error) {
        log.error("{}: {}", name, error);
      }) {}

Server::Server(const async::Runtime& runtime, const telemetry::Logger& log, Handler handler)
    : Server(runtime, log, std::move(handler), Limits()) {}

Server::~Server() = default;

Task<> Server::start(Door door) {
  listener_ = std::make_unique<Listener>(runtime_.executor, std::move(door));
  co_await listen();
  scope_.spawn("web server", serve());
  if (listener_->door().kind == Door::Kind::tls) {
    scope_.spawn("web certificate", follow_certificate());
  }
}

std::uint16_t Server::port() const {
  return listener_ ? listener_->port() : std::uint16_t{0};
}

Task<> Server::stop() {
  co_await scope_.stop();
  listener_.reset();
}

Task<bool> Server::listen() {
  const std::string problem = co_await listener_->open();
  const std::string where = listener_->door().text();
  if (problem.empty()) {
    log_.info("Listening at {}", where);
    co_return true;
  }
  if (std::exchange(problem_, problem) != problem) {
    log_.error("Cannot listen at {} yet: {}", where, problem);
  }
  co_return false;
}

Task<> Server::follow_certificate() {
  const Door& door = listener_->door();
  async::FileWatch files(runtime_.executor, {door.certificate, door.key});
  while (true) {
    co_await files.changed();
    const std::string problem = listener_->read_certificate();
    if (problem.empty()) {
      log_.info("The certificate {} was read again", door.certificate);
    } else {
      log_.error("The certificate before stays in use: {}", problem);
    }
  }
}

Task<> Server::serve() {
  while (!listener_->is_open()) {
    co_await runtime_.clock.sleep_for(kListenPause);
    co_await listen();
  }
  while (true) {
    while (connections_ >= limits_.connections) co_await one_ended_.wait();
    co_await accept();
  }
}

Task<> Server::accept() {
  std::string problem;
  Task<std::unique_ptr<Connection>> accepting = listener_->accept(problem);
  std::shared_ptr<Connection> connection = co_await std::move(accepting);
  if (!connection) {
    log_.warning("Accepting a client failed: {}", problem);
    co_await runtime_.clock.sleep_for(kAcceptPause);
    co_return;
  }
  std::size_t& of_origin = by_origin_[origin(connection->peer())];
  if (of_origin >= limits_.of_one) co_return;
  ++of_origin;
  ++connections_;
  scope_.spawn("web client", serve_connection(std::move(connection)));
}

Task<> Server::serve_connection(std::shared_ptr<Connection> connection) {
  const auto leave = [this, &connection] {
    const auto of_origin = by_origin_.find(origin(connection->peer()));
    if (--of_origin->second == 0) by_origin_.erase(of_origin);
    --connections_;
    one_ended_.set();
  };
  try {
    co_await serve_requests(*connection);
  } catch (const async::DeadlineExceeded&) {  // slow clients are let go without a word
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

Task<> Server::serve_requests(Connection& connection) {
  const async::Clock::TimePoint deadline = runtime_.clock.now() + limits_.request;
  bool goes_on = co_await async::with_deadline(runtime_.clock, deadline, connection.begin(),
                                               "agreeing on how to encrypt");
  while (goes_on) goes_on = co_await serve_request(connection);
}

// Returns whether another request may follow.
Task<bool> Server::serve_request(Connection& connection) {
  Connection::Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(limits_.head));
  parser.body_limit(limits_.body);
  const boost::system::error_code error =
      co_await async::with_deadline(runtime_.clock, runtime_.clock.now() + limits_.request,
                                    connection.read(parser), "waiting for a request");
  const bool is_gone = error == http::error::end_of_stream || error == asio::error::eof ||
                       error == asio::error::connection_reset ||
                       error == http::error::partial_message;
  if (is_gone) co_return false;
  Request request;
  request.peer = connection.peer();
  const bool is_understood = !error && read_request(parser.get(), request);
  Response response;
  if (is_understood) {
    response = co_await answer(request);
  } else {
    response = error_page(error ? status_of(error) : 400, "It cannot be understood.", request);
  }
  const bool goes_on = is_understood && parser.get().keep_alive();
  Task<bool> sending = response.stream ? send_stream(connection, std::move(response), goes_on)
                                       : send(connection, request, std::move(response), goes_on);
  co_return co_await std::move(sending);
}

Task<bool> Server::send(Connection& connection, const Request& request, Response response,
                        bool goes_on) {
  Connection::Answer message;
  begin_answer(message, response);
  message.keep_alive(goes_on);
  const std::size_t size = response.body ? response.body->size() : 0;
  if (response.status != 304) message.content_length(size);
  if (size > 0 && request.method != "HEAD") {
    message.body() = {response.body->data(), size};
  }
  const bool is_sent =
      co_await async::with_deadline(runtime_.clock, runtime_.clock.now() + limits_.answer,
                                    connection.write(message), "sending an answer");
  co_return is_sent&& goes_on;
}

Task<bool> Server::send_stream(Connection& connection, Response response, bool goes_on) {
  Connection::Head head;
  const bool is_full = streams_ >= limits_.streams;
  if (is_full) response = {503, {{"Retry-After", "10"}}};
  begin_answer(head, response);
  head.keep_alive(goes_on && !is_full);
  if (is_full) {
    head.content_length(0);
  } else {
    head.chunked(true);
  }
  const bool is_begun =
      co_await async::with_deadline(runtime_.clock, runtime_.clock.now() + limits_.answer,
                                    connection.write_head(head), "sending an answer");
  if (!is_begun || is_full) co_return false;
  ++streams_;
  StreamOnConnection sink(*this, connection);
  Task<> streaming = response.stream(sink);
  const auto leaving = [this] { return leave_stream(); };
  co_await async::finally(std::move(streaming), leaving);
  if (!sink.is_open()) co_return false;
  const bool is_ended = co_await connection.write_last_chunk();
  co_return is_ended&& goes_on;
}

Task<> Server::leave_stream() {
  --streams_;
  co_return;
}

Task<Response> Server::answer(Request request) {
  std::string failure;
  try {
    Task<Response> answering = handler_(request);
    co_return co_await std::move(answering);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  log_.error("{} {}: {}", request.method, request.path, failure);
  co_return Response{500,
                     {{"Content-Type", "text/plain; charset=UTF-8"}},
                     std::make_shared<const std::string>("Internal Server Error\n")};
}

}  // namespace nodepool::web
