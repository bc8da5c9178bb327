#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordination/store.h"

namespace nodepool::coordination {

// Forwards everything to another store. A store that changes some operations of another one derives
// from it, overrides these, and calls the functions of this class for the other store's.
class ForwardingStore : public Store {
 public:
  // `inner` outlives this.
  explicit ForwardingStore(Store& inner) : inner_(inner) {}

  Task<std::string> create(std::string path, std::string data, CreateMode mode) override {
    return inner_.create(std::move(path), std::move(data), mode);
  }
  Task<Entry> get(std::string path) override { return inner_.get(std::move(path)); }
  Task<std::optional<Stat>> exists(std::string path) override {
    return inner_.exists(std::move(path));
  }
  Task<Stat> set(std::string path, std::string data, std::int32_t expected) override {
    return inner_.set(std::move(path), std::move(data), expected);
  }
  Task<> remove(std::string path, std::int32_t expected) override {
    return inner_.remove(std::move(path), expected);
  }
  Task<std::vector<std::string>> children(std::string path) override {
    return inner_.children(std::move(path));
  }
  Task<std::vector<OperationResult>> commit(Transaction transaction) override {
    return inner_.commit(std::move(transaction));
  }
  Subscription watch(std::string root, WatchHandler handler) override {
    return inner_.watch(std::move(root), std::move(handler));
  }
  Subscription on_session(SessionHandler handler) override {
    return inner_.on_session(std::move(handler));
  }
  SessionState session_state() const override { return inner_.session_state(); }
  std::string problem() const override { return inner_.problem(); }
  std::int64_t session_id() const override { return inner_.session_id(); }
  Task<> close() override { return inner_.close(); }

 private:
  Store& inner_;
};

}  // namespace nodepool::coordination
