#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/forwarding_store.h"

namespace nodepool::bench {

// The number of a process's operations on the store.
struct StoreCounts {
  std::uint64_t transactions = 0;  // every write, also a commit of many operations
  std::uint64_t operations = 0;    // in transactions
  std::uint64_t reads = 0;         // get, children and exists
};

// Counts operations on another store and delays each like a server, so that waiting time shows the
// number of round trips. Calls return in order.
class CountingStore final : public coordination::ForwardingStore {
 public:
  CountingStore(coordination::Store& inner, async::Clock& clock, async::Duration round_trip)
      : ForwardingStore(inner), clock_(clock), round_trip_(round_trip) {}

  const StoreCounts& counts() const { return counts_; }

  async::Task<std::string> create(std::string path, std::string data,
                                  coordination::CreateMode mode) override;
  async::Task<coordination::Entry> get(std::string path) override;
  async::Task<std::optional<coordination::Stat>> exists(std::string path) override;
  async::Task<coordination::Stat> set(std::string path, std::string data,
                                      std::int32_t expected) override;
  async::Task<> remove(std::string path, std::int32_t expected) override;
  async::Task<std::vector<std::string>> children(std::string path) override;
  async::Task<std::vector<coordination::OperationResult>> commit(
      coordination::Transaction transaction) override;

 private:
  void count_write(std::size_t operations);

  async::Clock& clock_;
  async::Duration round_trip_;
  StoreCounts counts_;
};

}  // namespace nodepool::bench
