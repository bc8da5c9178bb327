#include "coordination/zookeeper/handshake.h"

#include <optional>
#include <utility>

#include "async/deadline.h"
#include "coordination/zookeeper/server_list.h"

namespace nodepool::coordination::zookeeper {

namespace {

Task<OpenedConnection> connect_and_request_session(Server server, TlsClient* tls,
                                                   ConnectParameters parameters) {
  OpenedConnection opened;
  opened.connection = co_await Connection::open(std::move(server), tls);
  const std::string request =
      connect_request(parameters.credentials, parameters.last_zxid,
                      static_cast<std::int32_t>(parameters.session_timeout.count()));
  std::vector<std::string_view> pieces{request};
  co_await opened.connection->write(std::move(pieces));
  std::optional<std::string_view> reply;
  while (!reply) {
    const std::span<char> space = opened.received.space();
    opened.received.filled(co_await opened.connection->read_some(space));
    reply = opened.received.next();
  }
  opened.reply = read_connect_reply(Reader(*reply));
  co_return opened;
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

}  // namespace nodepool::coordination::zookeeper
