#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "async/runtime.h"
#include "coordination/store.h"
#include "coordination/store_use.h"

namespace nodepool::coordination::sqlite {

// What survives when the machine loses power. The death of a process never loses anything.
enum class Durability {
  full,    // every operation that has succeeded
  normal,  // all but the last ones, without a gap: for tests and caches
};

struct SqliteOptions {
  // The database file. Its directory must exist, on a local file system. Next to it appear
  // "<path>-wal" and "<path>-shm" (SQLite's) and the directory "<path>-live" (who is alive), which
  // belong to it. Owner, group and modes of them all follow the directory (see file_access.h).
  std::string path;

  StoreUse use = StoreUse::create;

  Durability durability = Durability::full;

  // How long an operation waits for other processes that hold the file's lock. They do so for
  // milliseconds, unless somebody works on the file with other tools.
  std::chrono::milliseconds lock_deadline = std::chrono::seconds(10);
};

// Opens a store for all processes of one host that name the same file, and a session on it. A
// session lives as long as its process: when that dies, however suddenly, the ephemeral nodes
// vanish within milliseconds if another process has the store open, otherwise when the next one
// opens it.
//
// With StoreUse::read it shows what is there at the moment of a read, without what sessions that
// have died left, and its watches hear of nothing but the first resync. A full disk and a file that
// may only be read do not matter then.
//
// Throws StoreError(no_node) when there is no store in the directory and none is to be created;
// StoreError(storage) when the file cannot be created or written, is damaged, or belongs to another
// program or a later version of Nodepool; StoreError(disconnected) when another process keeps it
// locked past the deadline. The message says what to do.
//
// How failures show later: a full or failing disk refuses writes with StoreError(storage), nothing
// of which has happened, and reads go on; when there is space again, so do writes. While the file
// cannot be read the session is `suspended`.
//
// Destroying the store without close() is like the death of its process. Other processes live by
// the machine's time, so `runtime` must have its clock.
Task<std::unique_ptr<Store>> open_store(async::Runtime runtime, SqliteOptions options);

}  // namespace nodepool::coordination::sqlite
