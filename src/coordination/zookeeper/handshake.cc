#include "coordination/zookeeper/handshake.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/deadline.h"
#include "coordination/zookeeper/server_list.h"

namespace nodepool::coordination::zookeeper {

namespace {

// The next message from the server; valid until the next call.
Task<std::string_view> next_message(OpenedConnection& opened) {
  while (true) {
    if (const auto message = opened.received.next()) co_return *message;
    const std::span<char> space = opened.received.space();
    opened.received.filled(co_await opened.connection->read_some(space));
  }
}

Task<OpenedConnection> connect_and_request_session(Server server, TlsClient* tls,
                                                   ConnectParameters parameters) {
  OpenedConnection opened;
  opened.connection = co_await Connection::open(std::move(server), tls);
  const std::string request =
      connect_request(parameters.credentials, parameters.last_zxid,
                      static_cast<std::int32_t>(parameters.session_timeout.count()));
  std::vector<std::string_view> pieces{request};
  co_await opened.connection->write(std::move(pieces));
  Task<std::string_view> reading = next_message(opened);
  opened.reply = read_connect_reply(Reader(co_await std::move(reading)));
  co_return opened;
}

Task<std::int64_t> ask_latest_transaction(Server server, TlsClient* tls,
                                          ConnectParameters parameters) {
  Task<OpenedConnection> opening =
      connect_and_request_session(std::move(server), tls, std::move(parameters));
  OpenedConnection opened = co_await std::move(opening);
  constexpr std::int32_t kLast = 2;
  std::string sync = sync_request("/");
  set_xid(sync, 1);
  std::string closing = close_request();
  set_xid(closing, kLast);
  std::vector<std::string_view> pieces{sync, closing};
  co_await opened.connection->write(std::move(pieces));
  while (true) {
    Task<std::string_view> reading = next_message(opened);
    Reader reader(co_await std::move(reading));
    const ReplyHeader header = read_reply_header(reader);
    if (header.xid == kLast) co_return header.zxid;
  }
}

}  // namespace

Task<OpenedConnection> open_connection(async::Clock& clock, async::Clock::TimePoint deadline,
                                       Server server, TlsClient* tls,
                                       ConnectParameters parameters) {
  std::string what = to_string(server);
  Task<OpenedConnection> opening =
      connect_and_request_session(std::move(server), tls, std::move(parameters));
  Task<OpenedConnection> in_time =
      async::with_deadline(clock, deadline, std::move(opening), std::move(what));
  co_return co_await std::move(in_time);
}

Task<std::int64_t> latest_transaction(async::Clock& clock, async::Clock::TimePoint deadline,
                                      Server server, TlsClient* tls,
                                      std::chrono::milliseconds session_timeout) {
  std::string what = to_string(server);
  ConnectParameters parameters{{}, 0, session_timeout};
  Task<std::int64_t> asking = ask_latest_transaction(std::move(server), tls, std::move(parameters));
  Task<std::int64_t> in_time =
      async::with_deadline(clock, deadline, std::move(asking), std::move(what));
  co_return co_await std::move(in_time);
}

}  // namespace nodepool::coordination::zookeeper
