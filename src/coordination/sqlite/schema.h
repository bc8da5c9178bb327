#pragma once

#include "coordination/sqlite/database.h"
#include "coordination/sqlite/sqlite_store.h"

namespace nodepool::coordination::sqlite {

// Makes an empty file a store and checks that any other one is. Throws StoreError(storage) for a
// file of another program or of a later Nodepool, which stays untouched; for others as Database.
void prepare_schema(Database& database, Durability durability);

// The same for who only reads: an empty file is refused, too, as one that is not there (no_node).
void check_schema(Database& database);

}  // namespace nodepool::coordination::sqlite
