#pragma once

#include <functional>
#include <string>
#include <utility>

#include "coordination/store.h"

namespace nodepool::drivers::metastatic {

using coordination::Store;

// A store between the driver and the real one, whose writes of backing nodes go wrong on demand.
class LossyStore final : public Store {
 public:
  enum class Loss { answer, question, connection };

  // What is lost next. Returns nothing: nothing is.
  using NextLoss = std::function<std::optional<Loss>(const coordination::Transaction&)>;

  LossyStore(Store& inner, NextLoss next) : inner_(inner), next_(std::move(next)) {}

  coordination::Task<std::string> create(std::string path, std::string data,
                                         coordination::CreateMode mode) override {
    return inner_.create(std::move(path), std::move(data), mode);
  }
  coordination::Task<coordination::Entry> get(std::string path) override {
    return inner_.get(std::move(path));
  }
  coordination::Task<std::optional<coordination::Stat>> exists(std::string path) override {
    return inner_.exists(std::move(path));
  }
  coordination::Task<coordination::Stat> set(std::string path, std::string data,
                                             std::int32_t expected) override {
    return inner_.set(std::move(path), std::move(data), expected);
  }
  coordination::Task<> remove(std::string path, std::int32_t expected) override {
    return inner_.remove(std::move(path), expected);
  }
  coordination::Task<std::vector<std::string>> children(std::string path) override {
    return inner_.children(std::move(path));
  }
  coordination::Task<std::vector<coordination::OperationResult>> commit(
      coordination::Transaction transaction) override {
    using Kind = coordination::StoreError::Kind;
    const std::optional<Loss> loss = next_(transaction);
    if (loss == Loss::connection) throw coordination::store_error(Kind::disconnected, "a record");
    if (loss == Loss::question) throw coordination::store_error(Kind::unknown_outcome, "a record");
    auto results = co_await inner_.commit(std::move(transaction));
    if (loss == Loss::answer) throw coordination::store_error(Kind::unknown_outcome, "a record");
    co_return results;
  }
  coordination::Subscription watch(std::string root, coordination::WatchHandler handler) override {
    return inner_.watch(std::move(root), std::move(handler));
  }
  coordination::Subscription on_session(coordination::SessionHandler handler) override {
    return inner_.on_session(std::move(handler));
  }
  coordination::SessionState session_state() const override { return inner_.session_state(); }
  std::int64_t session_id() const override { return inner_.session_id(); }
  coordination::Task<> close() override { return inner_.close(); }

 private:
  Store& inner_;
  NextLoss next_;
};

}  // namespace nodepool::drivers::metastatic
