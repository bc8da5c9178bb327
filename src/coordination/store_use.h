#pragma once

namespace nodepool::coordination {

// What a store is opened for, where that makes a difference: to the embedded one.
enum class StoreUse {
  read,   // nothing is written, nor has to be writable: there is no session, and writes are refused
  write,  // the store must exist
  create,  // it is created if it does not exist
};

}  // namespace nodepool::coordination
