#include "coordination/zookeeper/handshake.h"

#include <optional>
#include <utility>

#include "async/deadline.h"
#include "coordination/zookeeper/server_list.h"

namespace nodepool::coordination::zookeeper {

namespace {

Task<ConnectParameters> introduce_oneself(Server server, TlsClient* tls, Hello hello) {
  ConnectParameters introduction;
  introduction.connection = co_await Connection::open(std::move(server), tls);
  const std::string request = connect_request(
      hello.credentials, hello.last_zxid, static_cast<std::int32_t>(hello.session_timeout.count()));
  std::vector<std::string_view> pieces{request};
  co_await introduction.connection->write(std::move(pieces));
  std::optional<std::string_view> reply;
  while (!reply) {
    const std::span<char> space = introduction.received.space();
    introduction.received.filled(co_await introduction.connection->read_some(space));
    reply = introduction.received.next();
  }
  introduction.reply = read_connect_reply(Reader(*reply));
  co_return introduction;
}

}  // namespace

Task<ConnectParameters> introduce(async::Clock& clock, async::Clock::TimePoint deadline,
                                  Server server, TlsClient* tls, Hello hello) {
  std::string what = to_string(server);
  Task<ConnectParameters> introducing = introduce_oneself(std::move(server), tls, std::move(hello));
  Task<ConnectParameters> in_time =
      async::with_deadline(clock, deadline, std::move(introducing), std::move(what));
  co_return co_await std::move(in_time);
}

}  // namespace nodepool::coordination::zookeeper
