#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/store.h"

namespace nodepool::coordination::zookeeper {

// One server of an ensemble.
struct Server {
  std::string host;           // a name, or an address; an IPv6 address may be in brackets
  std::uint16_t port = 2281;  // ZooKeeper's usual port for TLS
};

// Files in PEM format. The private key must not be encrypted.
struct TlsFiles {
  std::string ca;    // signs the servers' certificates
  std::string cert;  // this client's, with the chain that leads to its CA if there is one
  std::string key;
};

// What ZooKeeper's "digest" scheme knows a client by. It has only as much secrecy as the
// connection.
struct Digest {
  std::string user;  // without a colon
  std::string password;
};

struct ZooKeeperOptions {
  // The ensemble: each session starts with any of them and moves on when one fails.
  std::vector<Server> servers;

  // The node that is the store's "/"; empty for the real one. It must exist.
  std::string chroot;

  // Nothing: in plain text, which anybody on the way can read and change.
  std::optional<TlsFiles> tls;

  // With TLS: whether a server whose certificate is not for its `host` is refused.
  bool verify_hostname = false;

  // Nothing: nodes that are made are open to all clients. Otherwise only clients with the same
  // digest have access to them. Nodes of others keep their access lists.
  std::optional<Digest> digest;

  // After how long without contact the servers end the session; they may grant less or more
  // (2 to 20 of their ticks, by default).
  std::chrono::milliseconds session_timeout = std::chrono::seconds(10);

  // For one attempt at one server: name look-up, connection, TLS, session.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(3);
};

class Session;

// One session on a ZooKeeper ensemble, version 3.6 or later.
//
// While no server can be reached the store is `suspended`: it tries them all, again and again, and
// operations wait for it to succeed, for up to the session timeout each; then they fail as
// `disconnected`. What was sent and not answered when a connection broke fails at once: reads as
// `disconnected`, writes as `unknown_outcome`. A new connection begins with a `sync`, so a read
// that follows such a write shows what became of it, also on another server. Otherwise reads may be
// answered by a server that lags behind the others, but never behind what this session has seen.
//
// When the servers have ended the session the store is `expired`, and operations fail as
// `session_expired`, until there is a new one. A transaction is refused as `invalid` if it is
// larger than one request may be: about a megabyte.
//
// TLS is 1.2 or later. The server's certificate must be signed by the CA (the system's are not
// asked). Whether it is also for the server's name is checked, but refused only on demand: the
// Python Nodepool and Zuul do not check it, and sites have certificates for other names.
class ZooKeeperStore final : public Store {
 public:
  // For open_store() only.
  explicit ZooKeeperStore(std::shared_ptr<Session> session);
  // Without a close() like the death of the process: the servers end the session at its timeout.
  // The store goes before its event loop does.
  ~ZooKeeperStore() override;
  ZooKeeperStore(const ZooKeeperStore&) = delete;
  ZooKeeperStore& operator=(const ZooKeeperStore&) = delete;

  Task<std::string> create(std::string path, std::string data, CreateMode mode) override;
  Task<Entry> get(std::string path) override;
  Task<std::optional<Stat>> exists(std::string path) override;
  Task<Stat> set(std::string path, std::string data, std::int32_t expected) override;
  Task<> remove(std::string path, std::int32_t expected) override;
  Task<std::vector<std::string>> children(std::string path) override;
  Task<std::vector<OperationResult>> commit(Transaction transaction) override;
  Subscription watch(std::string root, WatchHandler handler) override;
  Subscription on_session(SessionHandler handler) override;
  SessionState session_state() const override;
  std::int64_t session_id() const override;
  // Throws disconnected or unknown_outcome if no server could be told: the session then ends at its
  // timeout.
  Task<> close() override;

  // Goes on with these servers and certificates, whose files are read anew. A connection to a
  // server that is still listed stays, unless its name is to be verified now and does not match;
  // the next one is made with them. The session goes along to
  // servers that know it. Other options stay as they are. Throws StoreError(storage) for TLS files
  // that cannot be used, StoreError(invalid) for no server: then nothing has changed.
  void reconfigure(const ZooKeeperOptions& options);

  // Why there is no connection, when there is none.
  const std::string& problem() const;
  // The server at the other end of the latest connection, "host:port".
  const std::string& server() const;
  // "HOST:PORT: the server's certificate is for …, not for HOST", of the latest connection; empty
  // if it is for HOST, and for plain text.
  const std::string& name_mismatch() const;

  // With the session's id, what takes the session over on another connection.
  std::string session_password_for_tests() const;

 private:
  std::shared_ptr<Session> session_;
};

// Opens a session. Tries each server once; throws StoreError(disconnected) with each one's reason
// if none gives a session: who wants to wait calls again. Throws StoreError(storage) for TLS files
// that cannot be used, StoreError(invalid) for a malformed chroot or an empty list of servers.
// `runtime` must have the machine's clock: the servers live by it.
Task<std::unique_ptr<ZooKeeperStore>> open_store(async::Runtime runtime, ZooKeeperOptions options);

}  // namespace nodepool::coordination::zookeeper
