#include "tests/coordination/conformance.h"

#include <map>
#include <memory>

#include "coordination/faulty/faulty_store.h"
#include "tests/coordination/group_commit_fixture.h"
#include "tests/coordination/memory_fixture.h"

namespace nodepool::coordination::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(memory, StoreConformance, testing::Values(backend<MemoryFixture>()));

// Memory stores with delays, which must not violate the contract.
class SlowMemoryFixture : public MemoryFixture {
 public:
  std::unique_ptr<Store> open() override {
    std::unique_ptr<Store> inner = MemoryFixture::open();
    FaultPlan plan{.delay = 0.2, .longest_delay = std::chrono::microseconds(300)};
    auto slow = std::make_unique<FaultyStore>(*inner, runtime(), std::move(plan), inner_.size());
    inner_[slow.get()] = std::move(inner);
    return slow;
  }

  void kill(std::unique_ptr<Store> store) override {
    MemoryFixture::kill(std::move(inner_.at(store.get())));
  }

  bool expire(Store& store) override { return MemoryFixture::expire(*inner_.at(&store)); }

 private:
  std::map<const Store*, std::unique_ptr<Store>> inner_;
};

INSTANTIATE_TEST_SUITE_P(slow_memory, StoreConformance,
                         testing::Values(backend<SlowMemoryFixture>()));

INSTANTIATE_TEST_SUITE_P(group_commit, StoreConformance,
                         testing::Values(backend<GroupCommitFixture<SlowMemoryFixture>>()));

}  // namespace
}  // namespace nodepool::coordination::conformance
