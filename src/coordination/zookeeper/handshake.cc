#include "coordination/zookeeper/handshake.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/deadline.h"
#include "coordination/zookeeper/server_list.h"

namespace nodepool::coordination::zookeeper {

namespace {

// Of one address: enough for a server nearby, also if its name has many addresses.
constexpr async::Duration kLeastTime = std::chrono::seconds(3);

// The next message from the server; valid until the next call.
Task<std::string_view> next_message(OpenedConnection& opened) {
  while (true) {
    if (const auto message = opened.received.next()) co_return *message;
    const std::span<char> space = opened.received.space();
    opened.received.filled(co_await opened.connection->read_some(space));
  }
}

Task<OpenedConnection> connect_and_request_session(ResolvedServer server, TlsClient* tls,
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

Task<std::int64_t> ask_latest_transaction(ResolvedServer server, TlsClient* tls,
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

// The result of the first attempt that succeeds, with the addresses in turn. They share `timeout`.
template <typename Result>
Task<Result> try_each(async::Clock& clock, async::Duration timeout,
                      std::vector<ResolvedServer> addresses,
                      std::function<Task<Result>(ResolvedServer)> attempt) {
  const auto count = static_cast<async::Duration::rep>(std::max<std::size_t>(1, addresses.size()));
  const async::Duration time = std::max(timeout / count, std::min(timeout, kLeastTime));
  std::string problems;
  for (const ResolvedServer& address : addresses) {
    const std::string name = to_string(address.server);
    std::string problem;
    try {
      Task<Result> in_time =
          async::with_deadline(clock, clock.now() + time, attempt(address), name);
      co_return co_await std::move(in_time);
    } catch (const ConnectionError& error) {
      problem = error.what();
    } catch (const MalformedMessage& error) {
      problem = name + ": " + error.what();
    } catch (const async::DeadlineExceeded& error) {
      problem = error.what();
    }
    if (!problems.contains(problem)) problems += (problems.empty() ? "" : "; ") + problem;
  }
  throw ConnectionError(problems);
}

}  // namespace

Task<OpenedConnection> open_connection(async::Clock& clock, async::Duration timeout,
                                       std::vector<ResolvedServer> addresses, TlsClient* tls,
                                       ConnectParameters parameters) {
  std::function<Task<OpenedConnection>(ResolvedServer)> attempt =
      [tls, parameters = std::move(parameters)](ResolvedServer address) {
        return connect_and_request_session(std::move(address), tls, parameters);
      };
  return try_each(clock, timeout, std::move(addresses), std::move(attempt));
}

Task<std::int64_t> latest_transaction(async::Clock& clock, async::Duration timeout,
                                      std::vector<ResolvedServer> addresses, TlsClient* tls,
                                      std::chrono::milliseconds session_timeout) {
  std::function<Task<std::int64_t>(ResolvedServer)> attempt =
      [tls, session_timeout](ResolvedServer address) {
        return ask_latest_transaction(std::move(address), tls, {{}, 0, session_timeout});
      };
  return try_each(clock, timeout, std::move(addresses), std::move(attempt));
}

}  // namespace nodepool::coordination::zookeeper
