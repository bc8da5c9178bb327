#pragma once

#include <map>
#include <memory>
#include <utility>

#include "coordination/group_commit.h"
#include "tests/coordination/conformance.h"

namespace nodepool::coordination::conformance {

// The stores of another backend with group commit.
template <typename Base>
class GroupCommitFixture : public Base {
 public:
  std::unique_ptr<Store> open() override {
    std::unique_ptr<Store> inner = Base::open();
    auto grouping = std::make_unique<GroupCommit>(Base::runtime(), *inner);
    grouped_[grouping.get()] = std::move(inner);
    return grouping;
  }

  void kill(std::unique_ptr<Store> store) override {
    Base::kill(std::move(grouped_.at(store.get())));
  }

  bool expire(Store& store) override { return Base::expire(*grouped_.at(&store)); }

 private:
  std::map<const Store*, std::unique_ptr<Store>> grouped_;
};

}  // namespace nodepool::coordination::conformance
