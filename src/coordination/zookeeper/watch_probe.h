#pragma once

#include <string>

#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::coordination::zookeeper {

// Makes sure that the servers report a change below a recursive watch with the path of the changed
// node. There are other engines than ZooKeeper that speak its protocol; one that reports the
// watch's own path instead, as ClickHouse Keeper does, leaves every cache stale without an error.
//
// Watches `root`, which is made if it is missing, then creates and removes an ephemeral node below
// it that is named after the session. So any number of sessions may do so at once, and one that
// dies meanwhile leaves nothing behind. Takes four round trips at most. Throws StoreError: storage
// for servers with that defect, otherwise as the store does.
Task<> require_recursive_watches(Store& store, std::string root);

}  // namespace nodepool::coordination::zookeeper
