#pragma once

namespace nodepool::coordination {

// How to open a store. Only the embedded store distinguishes these.
enum class StoreUse {
  read,    // no session; writes are rejected, and the file need not be writable
  write,   // the store must exist
  create,  // it is created if it does not exist
};

}  // namespace nodepool::coordination
