#pragma once

#include <memory>

#include "coordination/memory/memory_store.h"
#include "tests/coordination/conformance.h"

namespace nodepool::coordination::conformance {

class MemoryFixture : public StoreFixture {
 public:
  std::unique_ptr<Store> open() override {
    return std::make_unique<MemoryStore>(server_, runtime());
  }

  void kill(std::unique_ptr<Store> store) override {
    dynamic_cast<MemoryStore&>(*store).kill_for_tests();
  }

  bool expire(Store& store) override {
    dynamic_cast<MemoryStore&>(store).expire_for_tests();
    return true;
  }

 private:
  MemoryServer server_;
};

}  // namespace nodepool::coordination::conformance
