#include "cli/session.h"

#include <stdexcept>

namespace nodepool::cli {

Session::Session(Context& context, config::Config config,
                 std::unique_ptr<coordination::Store> store, std::shared_ptr<telemetry::Log> log)
    : context_(context),
      config_(std::move(config)),
      store_(std::move(store)),
      log_(std::move(log)),
      records_(context.runtime, *store_, logger("nodepool.model")),
      scope_(context.runtime, [this](const std::string& name, const std::string& error) {
        failure_ = "cannot read the " + name + ": " + error;
        changed_.set();
      }) {}

template <typename Table>
Task<Table*> Session::complete(Kind kind, Table& table) {
  records_.follow(scope_, {kind});
  const coordination::Subscription readiness = records_.observe_ready([this] { changed_.set(); });
  while (!table.ready()) {
    if (!failure_.empty()) throw std::runtime_error(failure_);
    co_await changed_.wait();
  }
  co_return &table;
}

template Task<model::NodeTable*> Session::complete(Kind, model::NodeTable&);
template Task<model::RequestTable*> Session::complete(Kind, model::RequestTable&);
template Task<model::ComponentTable*> Session::complete(Kind, model::ComponentTable&);
template Task<model::ImageTable*> Session::complete(Kind, model::ImageTable&);

std::vector<coordination::Subscription> Session::observe(const std::function<void()>& observer) {
  const auto call = [observer](const auto& /*change*/) { observer(); };
  std::vector<coordination::Subscription> subscriptions;
  subscriptions.push_back(records_.nodes.observe(call));
  subscriptions.push_back(records_.nodes.observe_locks(call));
  subscriptions.push_back(records_.requests.observe(call));
  subscriptions.push_back(records_.components.observe(call));
  subscriptions.push_back(records_.images.observe(call));
  return subscriptions;
}

Task<> Session::close() {
  co_await scope_.stop();
  co_await store_->close();
}

}  // namespace nodepool::cli
