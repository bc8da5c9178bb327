#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::coordination::zookeeper {

using async::Task;

struct TlsClient;

// A connection cannot be made or breaks. The message names the connection and the reason.
class ConnectionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A server at one of its addresses.
struct ResolvedServer {
  Server server;
  std::string ip;
};

// Returns the server at each of its addresses, in the order of the system's resolver. The lookup
// cannot be interrupted and may take a minute, so it is no part of an attempt with a deadline.
// Throws ConnectionError; after the lookup, Cancelled.
Task<std::vector<ResolvedServer>> look_up(Server server);

// A stream of bytes to a server, plain or TLS. One task may read while another writes. Functions
// that wait throw Cancelled when they are cancelled.
class Connection {
 public:
  virtual ~Connection() = default;

  // `tls` is null for plain text, and outlives the connection. Throws ConnectionError, also for a
  // certificate for another name if `tls` verifies it.
  static Task<std::unique_ptr<Connection>> open(ResolvedServer resolved, TlsClient* tls);

  // "HOST:PORT: the server's certificate is for …, not for HOST"; empty if it is for HOST, and for
  // plain text.
  const std::string& name_mismatch() const { return name_mismatch_; }

  // Waits for bytes and returns the number stored in `space`, at least one. Throws ConnectionError.
  virtual Task<std::size_t> read_some(std::span<char> space) = 0;

  // Sends all pieces, which must live until this returns. Throws ConnectionError.
  virtual Task<> write(std::vector<std::string_view> pieces) = 0;

  // Ends the connection: pending reads and writes throw Cancelled.
  virtual void close() = 0;

 private:
  std::string name_mismatch_;
};

}  // namespace nodepool::coordination::zookeeper
