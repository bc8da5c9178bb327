#include "program/open_store.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "coordination/error.h"
#include "coordination/sqlite/sqlite_store.h"
#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::program {

namespace zk = coordination::zookeeper;
using async::Task;
using coordination::Store;
using coordination::StoreError;

namespace {

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
  options.session_timeout =
      std::max(std::chrono::milliseconds(1), std::chrono::duration_cast<std::chrono::milliseconds>(
                                                 std::chrono::duration<double>(zookeeper.timeout)));
  return options;
}

namespace {

Task<std::unique_ptr<Store>> open_zookeeper(async::Runtime runtime, config::ZooKeeper zookeeper) {
  const std::string chroot = zookeeper.chroot;
  Task<std::unique_ptr<zk::ZooKeeperStore>> opening =
      zk::open_store(runtime, zookeeper_options(std::move(zookeeper)));
  std::unique_ptr<Store> store = co_await std::move(opening);
  if (chroot.empty() || co_await store->exists("/")) co_return store;
  co_await store->close();
  throw StoreError(StoreError::Kind::no_node,
                   "zookeeper-servers: the chroot " + chroot +
                       " does not exist in ZooKeeper (create it with zkCli.sh: `create " + chroot +
                       "`)");
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
  co_return co_await coordination::sqlite::open_store(runtime, std::move(options));
}

}  // namespace nodepool::program
