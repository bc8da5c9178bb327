#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "async/clock.h"
#include "coordination/zookeeper/connection.h"
#include "coordination/zookeeper/frame_buffer.h"
#include "coordination/zookeeper/messages.h"

namespace nodepool::coordination::zookeeper {

// What a client says when it connects.
struct Hello {
  Credentials credentials;
  std::int64_t last_zxid = 0;  // a server that has not come as far refuses
  std::chrono::milliseconds session_timeout{};
};

// A connection whose server has answered.
struct ConnectParameters {
  std::unique_ptr<Connection> connection;
  ConnectReply reply;
  FrameBuffer received;  // what came after the reply
};

// Connects to a server and asks for a session, until `deadline`. `tls` is null for plain text, and
// outlives the connection. Throws ConnectionError, MalformedMessage, async::DeadlineExceeded.
Task<ConnectParameters> introduce(async::Clock& clock, async::Clock::TimePoint deadline,
                                  Server server, TlsClient* tls, Hello hello);

}  // namespace nodepool::coordination::zookeeper
