#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "coordination/forwarding_store.h"

namespace nodepool::drivers::metastatic {

using coordination::Store;

// A store between the driver and the real one, whose writes of backing nodes go wrong on demand.
class LossyStore final : public coordination::ForwardingStore {
 public:
  enum class Loss { answer, question, connection };

  // What is lost next. Returns nothing: nothing is.
  using NextLoss = std::function<std::optional<Loss>(const coordination::Transaction&)>;

  LossyStore(Store& inner, NextLoss next) : ForwardingStore(inner), next_(std::move(next)) {}

  coordination::Task<std::vector<coordination::OperationResult>> commit(
      coordination::Transaction transaction) override {
    using Kind = coordination::StoreError::Kind;
    const std::optional<Loss> loss = next_(transaction);
    if (loss == Loss::connection) throw coordination::store_error(Kind::disconnected, "a record");
    if (loss == Loss::question) throw coordination::store_error(Kind::unknown_outcome, "a record");
    auto results = co_await ForwardingStore::commit(std::move(transaction));
    if (loss == Loss::answer) throw coordination::store_error(Kind::unknown_outcome, "a record");
    co_return results;
  }

 private:
  NextLoss next_;
};

}  // namespace nodepool::drivers::metastatic
