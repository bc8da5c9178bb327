#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "coordination/faulty/fault_plan.h"
#include "coordination/forwarding_store.h"

namespace nodepool::coordination {

// Injects delays and faults into another store, as the plan says. It keeps Store's guarantees, such
// as the order of operations and of the events of a watch. The same seed and the same calls give
// the same faults.
//
// close() and the session's state are forwarded without faults.
class FaultyStore final : public ForwardingStore {
 public:
  // `inner` outlives this.
  FaultyStore(Store& inner, const async::Runtime& runtime, FaultPlan plan, std::uint64_t seed);
  // Pending operations never return.
  ~FaultyStore() override;
  FaultyStore(const FaultyStore&) = delete;
  FaultyStore& operator=(const FaultyStore&) = delete;

  // Replaces the plan. A default FaultPlan has no faults.
  void set_plan(FaultPlan plan);

  const FaultCounts& counts() const;

  Task<std::string> create(std::string path, std::string data, CreateMode mode) override;
  Task<Entry> get(std::string path) override;
  Task<std::optional<Stat>> exists(std::string path) override;
  Task<Stat> set(std::string path, std::string data, std::int32_t expected) override;
  Task<> remove(std::string path, std::int32_t expected) override;
  Task<std::vector<std::string>> children(std::string path) override;
  Task<std::vector<OperationResult>> commit(Transaction transaction) override;
  Subscription watch(std::string root, WatchHandler handler) override;

 private:
  struct Link;

  std::shared_ptr<Link> link_;
};

}  // namespace nodepool::coordination
