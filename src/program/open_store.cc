#include "program/open_store.h"

#include <stdexcept>

#include "coordination/sqlite/sqlite_store.h"

namespace nodepool::program {

async::Task<std::unique_ptr<coordination::Store>> open_store(async::Runtime runtime,
                                                             config::StoreChoice choice) {
  if (choice.kind == config::StoreChoice::Kind::zookeeper) {
    throw std::runtime_error(
        "this release cannot use ZooKeeper: write `store: sqlite:///path/to/nodepool.db` into the "
        "configuration, or leave `zookeeper-servers` out");
  }
  coordination::sqlite::SqliteOptions options;
  options.path = std::move(choice.sqlite_path);
  co_return co_await coordination::sqlite::open_store(runtime, std::move(options));
}

}  // namespace nodepool::program
