#include "coordination/sqlite/sqlite_store.h"

#include <utility>

#include "coordination/sqlite/engine.h"

namespace nodepool::coordination::sqlite {

namespace {

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
  ~SqliteStore() override { engine_->abandon(); }

  Task<std::string> create(std::string path, std::string data, CreateMode mode) override {
    Transaction::Operation operation{Transaction::Kind::create, std::move(path), std::move(data),
                                     mode};
    OperationResult result = co_await change(std::move(operation));
    co_return std::move(result.path);
  }

  Task<Entry> get(std::string path) override {
    auto call = [path](NodeTree& tree) { return tree.get(path); };
    return Engine::read(engine_, std::move(path), std::move(call));
  }

  Task<std::optional<Stat>> exists(std::string path) override {
    auto call = [path](NodeTree& tree) { return tree.exists(path); };
    return Engine::read(engine_, std::move(path), std::move(call));
  }

  Task<Stat> set(std::string path, std::string data, std::int32_t expected) override {
    Transaction::Operation operation{Transaction::Kind::set, std::move(path), std::move(data),
                                     CreateMode::persistent, expected};
    const OperationResult result = co_await change(std::move(operation));
    co_return result.stat;
  }

  Task<> remove(std::string path, std::int32_t expected) override {
    Transaction::Operation operation{
        Transaction::Kind::remove, std::move(path), {}, CreateMode::persistent, expected};
    co_await change(std::move(operation));
  }

  Task<std::vector<std::string>> children(std::string path) override {
    auto call = [path](NodeTree& tree) { return tree.children(path); };
    return Engine::read(engine_, std::move(path), std::move(call));
  }

  Task<std::vector<OperationResult>> commit(Transaction transaction) override {
    std::string path = transaction.empty() ? std::string() : transaction.operations().front().path;
    auto call = [transaction = std::move(transaction)](NodeTree& tree, const Author& author) {
      return tree.apply(transaction, author);
    };
    return Engine::write(engine_, std::move(path), std::move(call));
  }

  Subscription watch(std::string root, WatchHandler handler) override {
    return engine_->watch(std::move(root), std::move(handler));
  }

  Subscription on_session(SessionHandler handler) override {
    return engine_->on_session(std::move(handler));
  }

  SessionState session_state() const override { return engine_->session_state(); }
  std::string problem() const override { return engine_->problem(); }
  std::int64_t session_id() const override { return engine_->session_id(); }
  Task<> close() override { return Engine::close(engine_); }

 private:
  Task<OperationResult> change(Transaction::Operation operation) {
    std::string path = operation.path;
    auto call = [operation = std::move(operation)](NodeTree& tree, const Author& author) {
      return tree.apply(operation, author);
    };
    return Engine::write(engine_, std::move(path), std::move(call));
  }

  std::shared_ptr<Engine> engine_;
};

}  // namespace

Task<std::unique_ptr<Store>> open_store(async::Runtime runtime, SqliteOptions options) {
  Task<std::shared_ptr<Engine>> opening = Engine::open(runtime, std::move(options));
  co_return std::make_unique<SqliteStore>(co_await std::move(opening));
}

}  // namespace nodepool::coordination::sqlite
