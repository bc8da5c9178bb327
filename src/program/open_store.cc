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
using std::chrono::seconds;

namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(250);
constexpr auto kLongestPause = seconds(4);
constexpr auto kBetweenWarnings = seconds(10);

std::optional<zk::TlsFiles> tls_files(const config::ZooKeeperTls& tls) {
  if (tls.insecure_plaintext) return std::nullopt;
  if (const std::string missing = tls.missing(); !missing.empty()) {
    throw StoreError(StoreError::Kind::invalid, "zookeeper-tls: " + missing);
  }
  return zk::TlsFiles{.ca = tls.ca, .cert = tls.cert, .key = tls.key};
}

zk::ZooKeeperOptions options_for(config::ZooKeeper zookeeper) {
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

Task<std::unique_ptr<Store>> open_zookeeper(async::Runtime runtime, config::ZooKeeper zookeeper) {
  const std::string chroot = zookeeper.chroot;
  Task<std::unique_ptr<zk::ZooKeeperStore>> opening =
      zk::open_store(runtime, options_for(std::move(zookeeper)));
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

Task<std::unique_ptr<Store>> open_store_in_time(async::Runtime runtime, config::StoreChoice choice,
                                                config::ZooKeeper zookeeper,
                                                const telemetry::Logger& log) {
  if (choice.kind == config::StoreChoice::Kind::zookeeper && zookeeper.tls.insecure_plaintext) {
    log.warning(
        "zookeeper-tls: insecure-plaintext is set: whoever can reach the network reads and changes "
        "everything in ZooKeeper");
  }
  std::optional<async::Clock::TimePoint> warned;
  async::Duration pause = kFirstPause;
  while (true) {
    try {
      Task<std::unique_ptr<Store>> opening =
          open_store(runtime, choice, zookeeper, coordination::StoreUse::create);
      std::unique_ptr<Store> store = co_await std::move(opening);
      if (warned) log.info("The store can be reached");
      co_return store;
    } catch (const StoreError& error) {
      if (error.kind() != StoreError::Kind::disconnected) throw;
      const async::Clock::TimePoint now = runtime.clock.now();
      if (!warned || now - *warned >= kBetweenWarnings) {
        log.warning("Waiting for the store: {}", error.what());
        warned = now;
      }
    }
    co_await runtime.clock.sleep_for(pause);
    pause = std::min<async::Duration>(2 * pause, kLongestPause);
  }
}

}  // namespace nodepool::program
