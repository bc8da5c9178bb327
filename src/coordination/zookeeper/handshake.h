#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "async/clock.h"
#include "coordination/zookeeper/connection.h"
#include "coordination/zookeeper/frame_buffer.h"
#include "coordination/zookeeper/messages.h"

namespace nodepool::coordination::zookeeper {

// The parameters of a client's ConnectRequest.
struct ConnectParameters {
  DigestCredentials credentials;
  std::int64_t last_zxid = 0;  // a server that is behind rejects the client
  std::chrono::milliseconds session_timeout{};
};

// A connection after the server's response.
struct OpenedConnection {
  std::unique_ptr<Connection> connection;
  ConnectReply reply;
  FrameBuffer received;  // bytes after the reply
};

// Connects to a server and requests a session. Tries its addresses in turn. They share `timeout`,
// but each has at least 3 s of it, or all if it is shorter. `tls` is null for plain text, and
// outlives the connection. Throws ConnectionError, with the reasons of all addresses.
Task<OpenedConnection> open_connection(async::Clock& clock, async::Duration timeout,
                                       std::vector<ResolvedServer> addresses, TlsClient* tls,
                                       ConnectParameters parameters);

// Opens a new session with this timeout, lets the server catch up with the others, and ends the
// session. Returns the id of the server's latest transaction then; 0 or less: unknown. The other
// parameters and errors are as above.
Task<std::int64_t> latest_transaction(async::Clock& clock, async::Duration timeout,
                                      std::vector<ResolvedServer> addresses, TlsClient* tls,
                                      std::chrono::milliseconds session_timeout);

}  // namespace nodepool::coordination::zookeeper
