#pragma once

#include "coordination/store.h"

namespace nodepool::coordination::zookeeper {

// The first byte of an input says what the rest is.
enum class Sample : unsigned char {
  connect_reply,
  stat,
  created,
  entry,
  children,
  watch_event,
  multi,   // the answer to sample_transaction()
  stream,  // of frames; the byte that follows says in pieces of which size it comes
  count,
};

inline Transaction sample_transaction() {
  Transaction transaction;
  transaction.check("/a").create("/b", "data").set("/c", "data").remove("/d");
  return transaction;
}

}  // namespace nodepool::coordination::zookeeper
