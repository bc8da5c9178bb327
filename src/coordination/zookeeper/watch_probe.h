#pragma once

#include <string>

#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::coordination::zookeeper {

// Checks that the servers report a change below a recursive watch with the path of the changed
// node. Some servers of ZooKeeper's protocol, such as ClickHouse Keeper, report the watch's own
// path, which leaves every cache stale without an error.
//
// Watches `root`, creating it if it is missing, then creates and removes an ephemeral node below
// it, named after the session. So sessions can run the check concurrently, and leave nothing behind
// when they die. Takes at most four round trips. Throws StoreError: storage for servers with that
// defect, otherwise like the store.
Task<> require_recursive_watches(Store& store, std::string root);

}  // namespace nodepool::coordination::zookeeper
