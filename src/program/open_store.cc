#include "program/open_store.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "coordination/error.h"
#include "coordination/sqlite/sqlite_store.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "model/paths.h"

namespace nodepool::program {

namespace zk = coordination::zookeeper;
using async::Task;
using coordination::Store;
using coordination::StoreError;

namespace {

// How long to wait until a launcher that has just been started creates the embedded store.
constexpr auto kCreationTimeout = std::chrono::seconds(2);
constexpr auto kPollInterval = std::chrono::milliseconds(50);

std::optional<zk::TlsFiles> tls_files(const config::ZooKeeperTls& tls) {
  if (tls.insecure_plaintext) return std::nullopt;
  if (const std::string missing = tls.missing(); !missing.empty()) {
    throw StoreError(StoreError::Kind::invalid, "zookeeper-tls: " + missing);
  }
  return zk::TlsFiles{.ca = tls.ca, .cert = tls.cert, .key = tls.key};
}

}  // namespace

zk::ZooKeeperOptions zookeeper_options(config::ZooKeeper zookeeper) {
  zk::ZooKeeperOptions options;
  for (config::ZooKeeperServer& server : zookeeper.servers) {
    options.servers.push_back({std::move(server.host), static_cast<std::uint16_t>(server.port)});
  }
  options.chroot = std::move(zookeeper.chroot);
  options.tls = tls_files(zookeeper.tls);
  options.verify_hostname = zookeeper.tls.verify_hostname;
  if (zookeeper.auth) options.digest = {zookeeper.auth->user, zookeeper.auth->password};
  options.session_timeout =
      std::max(std::chrono::milliseconds(1), std::chrono::duration_cast<std::chrono::milliseconds>(
                                                 std::chrono::duration<double>(zookeeper.timeout)));
  // Slow servers get more time with a longer `zookeeper-timeout`. When a server stops responding, a
  // third of the session is left to try all of them.
  const auto servers = static_cast<std::int64_t>(std::max<std::size_t>(1, options.servers.size()));
  options.connect_timeout =
      std::max(options.connect_timeout, options.session_timeout / 3 / servers);
  return options;
}

namespace {

// Fails if an access list forbids to read the records: caches would only retry.
Task<> require_readable(Store& store) {
  try {
    co_await store.children(std::string(model::kRoot));
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
}

Task<std::unique_ptr<Store>> open_zookeeper(async::Runtime runtime, config::ZooKeeper zookeeper) {
  const std::string chroot = zookeeper.chroot;
  Task<std::unique_ptr<zk::ZooKeeperStore>> opening =
      zk::open_store(runtime, zookeeper_options(std::move(zookeeper)));
  std::unique_ptr<Store> store = co_await std::move(opening);
  if (chroot.empty() || co_await store->exists("/")) {
    co_await require_readable(*store);
    co_return store;
  }
  co_await store->close();
  throw StoreError(StoreError::Kind::no_node,
                   "zookeeper-servers: the chroot " + chroot +
                       " does not exist in ZooKeeper (create it with zkCli.sh: `create " + chroot +
                       "`)");
}

// Returns nothing if the store does not exist (yet).
Task<std::unique_ptr<Store>> open_if_there(async::Runtime runtime,
                                           coordination::sqlite::SqliteOptions options) {
  Task<std::unique_ptr<Store>> opening = coordination::sqlite::open_store(runtime, options);
  try {
    co_return co_await std::move(opening);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
  co_return nullptr;
}

// Waits for a missing store, so that a command works right after the start of the launcher.
Task<std::unique_ptr<Store>> open_sqlite(async::Runtime runtime,
                                         coordination::sqlite::SqliteOptions options) {
  const async::Clock::TimePoint deadline = runtime.clock.now() + kCreationTimeout;
  while (runtime.clock.now() < deadline) {
    Task<std::unique_ptr<Store>> opening = open_if_there(runtime, options);
    std::unique_ptr<Store> store = co_await std::move(opening);
    if (store) co_return store;
    co_await runtime.clock.sleep_for(kPollInterval);
  }
  Task<std::unique_ptr<Store>> opening = coordination::sqlite::open_store(runtime, options);
  co_return co_await std::move(opening);
}

}  // namespace

Task<std::unique_ptr<Store>> open_store(async::Runtime runtime, config::StoreChoice choice,
                                        config::ZooKeeper zookeeper, coordination::StoreUse use) {
  if (choice.kind == config::StoreChoice::Kind::zookeeper) {
    Task<std::unique_ptr<Store>> opening = open_zookeeper(runtime, std::move(zookeeper));
    co_return co_await std::move(opening);
  }
  coordination::sqlite::SqliteOptions options;
  options.path = std::move(choice.sqlite_path);
  options.use = use;
  Task<std::unique_ptr<Store>> opening = open_sqlite(runtime, std::move(options));
  co_return co_await std::move(opening);
}

}  // namespace nodepool::program
