#pragma once

#include <memory>

#include "async/runtime.h"
#include "config/config.h"
#include "coordination/store.h"
#include "coordination/store_use.h"
#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::program {

// Opens a store. Throws StoreError with the problem and how to fix it: `disconnected` with every
// server's reason if none is reachable; `invalid` for incomplete `zookeeper-tls`; `no_node` for a
// chroot that does not exist; otherwise like the stores' own open_store(). `zookeeper` is used only
// for ZooKeeper, `use` only for the embedded store.
async::Task<std::unique_ptr<coordination::Store>> open_store(async::Runtime runtime,
                                                             config::StoreChoice choice,
                                                             config::ZooKeeper zookeeper,
                                                             coordination::StoreUse use);

// The options to connect to the ensemble. Throws StoreError(invalid) for incomplete
// `zookeeper-tls`.
coordination::zookeeper::ZooKeeperOptions zookeeper_options(config::ZooKeeper zookeeper);

}  // namespace nodepool::program
