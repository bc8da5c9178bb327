#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "async/runtime.h"
#include "coordination/store.h"
#include "coordination/store_use.h"

namespace nodepool::coordination::sqlite {

// What survives a power failure. The death of a process loses nothing.
enum class Durability {
  full,    // every successful operation
  normal,  // all but the latest operations; for tests and caches
};

struct SqliteOptions {
  // The database file, in an existing directory on a local file system, or a symbolic link to it.
  // "<path>-wal", "<path>-shm" (SQLite's) and the directory "<path>-live" (live sessions) are next
  // to the file. Owner, group and modes of all follow the directory (see file_access.h).
  std::string path;

  StoreUse use = StoreUse::create;

  Durability durability = Durability::full;

  // How long an operation waits for other processes that hold the file's lock. Usually these hold
  // it for milliseconds.
  std::chrono::milliseconds lock_deadline = std::chrono::seconds(10);
};

// Opens a store, shared by all processes of one host that open the same file, and a session. The
// session lives as long as its process. When the process dies, its ephemeral nodes vanish within
// milliseconds if another process has the store open, otherwise when the next process opens it.
//
// With StoreUse::read, reads return the current nodes without those of dead sessions, and watches
// get only the first resync. A full disk or a read-only file does not matter then.
//
// Throws StoreError(no_node) if there is no store in the directory and `use` is not `create`;
// StoreError(storage) if the file cannot be created or written, is damaged, or belongs to another
// program or a later version of Nodepool; StoreError(disconnected) if another process holds the
// lock past the deadline; StoreError(no_space) if the disk is full. The message says what to do.
//
// Later failures: on a full disk, writes fail with StoreError(no_space), on a failing one with
// StoreError(storage). They have not happened, and reads continue. Writes recover when there is
// space again. While the file cannot be read, or has been removed or replaced, the session is
// `suspended`, and operations fail.
//
// Destroying the store without close() is like the death of its process. Other processes use the
// machine's time, so `runtime` must have its clock.
Task<std::unique_ptr<Store>> open_store(async::Runtime runtime, SqliteOptions options);

}  // namespace nodepool::coordination::sqlite
