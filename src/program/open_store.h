#pragma once

#include <memory>

#include "async/runtime.h"
#include "config/config.h"
#include "coordination/store.h"
#include "coordination/store_use.h"
#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::program {

// Opens a store. Throws StoreError with what is wrong and how to mend it: `disconnected` with every
// server's reason if none can be reached; `invalid` for incomplete `zookeeper-tls`; `no_node` for a
// chroot that does not exist; otherwise as the stores' own open_store(). `zookeeper` counts only if
// it is chosen, and `use` only otherwise.
async::Task<std::unique_ptr<coordination::Store>> open_store(async::Runtime runtime,
                                                             config::StoreChoice choice,
                                                             config::ZooKeeper zookeeper,
                                                             coordination::StoreUse use);

// The options that reach the ensemble. Throws StoreError(invalid) for incomplete `zookeeper-tls`.
coordination::zookeeper::ZooKeeperOptions zookeeper_options(config::ZooKeeper zookeeper);

}  // namespace nodepool::program
