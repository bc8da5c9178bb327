#include "cli/session.h"

#include <stdexcept>

namespace nodepool::cli {

Session::Session(Context& context, config::Config config,
                 std::unique_ptr<coordination::Store> store, std::shared_ptr<telemetry::Log> log)
    : context_(context),
      config_(std::move(config)),
      store_(std::move(store)),
      log_(std::move(log)),
      scope_(context.runtime, [this](const std::string& name, const std::string& error) {
        failure_ = "cannot read the " + name + ": " + error;
        changed_.set();
      }) {}

template <typename Table>
Task<Table*> Session::complete(std::optional<Table>& table, std::string name) {
  if (!table) {
    table.emplace(runtime(), *store_, logger("nodepool.model"));
    scope_.spawn(name, table->run());
  }
  const coordination::Subscription readiness =
      table->observe_readiness([this](bool) { changed_.set(); });
  while (!table->ready()) {
    if (!failure_.empty()) throw std::runtime_error(failure_);
    co_await changed_.wait();
  }
  co_return &*table;
}

template Task<model::NodeTable*> Session::complete(std::optional<model::NodeTable>&, std::string);
template Task<model::RequestTable*> Session::complete(std::optional<model::RequestTable>&,
                                                      std::string);
template Task<model::ComponentTable*> Session::complete(std::optional<model::ComponentTable>&,
                                                        std::string);
template Task<model::ImageTable*> Session::complete(std::optional<model::ImageTable>&, std::string);

Task<> Session::close() {
  co_await scope_.stop();
  co_await store_->close();
}

}  // namespace nodepool::cli
