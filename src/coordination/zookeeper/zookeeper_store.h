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

// A server of an ensemble.
struct Server {
  std::string host;           // name or address; an IPv6 address may be in brackets
  std::uint16_t port = 2281;  // ZooKeeper's usual port for TLS
};

// Files in PEM format. The private key must not be encrypted.
struct TlsFiles {
  std::string ca;    // signs the servers' certificates
  std::string cert;  // this client's, with the chain that leads to its CA if there is one
  std::string key;
};

// DigestCredentials for ZooKeeper's "digest" scheme. Without TLS they are sent in plain text.
struct DigestAuth {
  std::string user;  // without a colon
  std::string password;
};

struct ZooKeeperOptions {
  // The ensemble. A session starts with a random server and moves to another one on failure.
  std::vector<Server> servers;

  // The node that is the store's "/"; empty for the root. It must exist.
  std::string chroot;

  // None: plain text, which others on the network can read and change.
  std::optional<TlsFiles> tls;

  // With TLS: whether to reject a server whose certificate does not match its `host`.
  bool verify_hostname = false;

  // None: created nodes are open to all clients. Otherwise only clients with the same digest have
  // access to them. Nodes of other clients keep their access lists.
  std::optional<DigestAuth> digest;

  // The servers end the session after this time without contact. They may grant less or more (2 to
  // 20 of their ticks, by default).
  std::chrono::milliseconds session_timeout = std::chrono::seconds(10);

  // For one attempt at a server: connection, TLS, session. Its addresses share it, but each has at
  // least 3 s, or this time if it is shorter. The lookup of its name comes before and takes as long
  // as the system's resolver lets it.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(3);
};

class Session;

// One session on a ZooKeeper ensemble, version 3.6 or later.
//
// While no server is reachable, the store is `suspended` and retries all servers. Operations wait
// up to the session timeout each, then fail as `disconnected`. When a connection breaks, pending
// reads fail at once as `disconnected`, pending writes as `unknown_outcome`. A new connection
// starts with a `sync`, so a read after such a write shows its outcome, also on another server.
// Otherwise a server may lag behind the others, but never behind what this session has seen.
//
// After the servers have ended the session, or after its timeout if they have other data, the store
// is `expired` and operations fail as `session_expired` until it has a new session. A transaction
// larger than one request may be, about a megabyte, fails as `too_large`.
//
// TLS is 1.2 or later. The server's certificate must be signed by the configured CA; the system's
// CAs do not count. A certificate for another name is only reported, unless verification is on: the
// Python Nodepool and Zuul do not check the name, and existing sites may have such certificates.
class ZooKeeperStore final : public Store {
 public:
  // For open_store() only.
  explicit ZooKeeperStore(std::shared_ptr<Session> session);
  // Without close(), like the death of the process: the servers end the session at its timeout. The
  // event loop must outlive the store.
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
  // Why there is no connection.
  std::string problem() const override;
  std::int64_t session_id() const override;
  // Throws disconnected or unknown_outcome if no server is reachable: the session then ends at its
  // timeout.
  Task<> close() override;

  // Uses these servers and certificates, whose files are read again, for new connections. Keeps the
  // connection to a server that is still listed, unless its name must now be verified and does not
  // match; to any other until a listed one responds. Keeps the session if the new servers have it.
  // Ignores other options. Throws
  // StoreError(storage) for unusable TLS files, StoreError(invalid) for an empty list of servers;
  // nothing has changed then.
  void reconfigure(const ZooKeeperOptions& options);

  // The server of the latest connection, "host:port".
  const std::string& server() const;
  // Why the connection to a server that is no longer listed is kept; empty if there is none such.
  const std::string& kept_server_problem() const;
  // "HOST:PORT: the server's certificate is for …, not for HOST", of the latest connection; empty
  // if it is for HOST, and for plain text.
  const std::string& name_mismatch() const;

  // With the session's id, resumes the session on another connection.
  std::string session_password_for_tests() const;

 private:
  std::shared_ptr<Session> session_;
};

// Opens a session. Tries each server once and throws StoreError(disconnected) with the reason of
// each if none opens a session. Throws StoreError(storage) for unusable TLS files,
// StoreError(invalid) for a malformed chroot or an empty list of servers. `runtime` must have the
// machine's clock, which the servers use as well.
Task<std::unique_ptr<ZooKeeperStore>> open_store(async::Runtime runtime, ZooKeeperOptions options);

}  // namespace nodepool::coordination::zookeeper
