#pragma once

#include "coordination/sqlite/database.h"
#include "coordination/sqlite/sqlite_store.h"

namespace nodepool::coordination::sqlite {

// Turns an empty file into a store and checks any other file. Throws StoreError(storage) for a file
// of another program or of a later Nodepool, without changing it; otherwise throws like Database.
void prepare_schema(Database& database, Durability durability);

// The same check for readers: an empty file counts as missing (no_node).
void check_schema(Database& database);

}  // namespace nodepool::coordination::sqlite
