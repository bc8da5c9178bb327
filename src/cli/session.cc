#include "cli/session.h"

#include <stdexcept>

namespace nodepool::cli {

Session::Session(Context& context, config::Config config, coordination::StoreUse use,
                 std::shared_ptr<telemetry::Log> log)
    : context_(context), config_(std::move(config)), use_(use), log_(std::move(log)) {}

Task<> Session::open() {
  if (store_) co_return;
  Task<std::unique_ptr<coordination::Store>> opening =
      context_.open_store(config_.store, config_.zookeeper, use_);
  store_ = co_await std::move(opening);
  make_tables();
}

void Session::make_tables() {
  scope_.emplace(context_.runtime, [this](const std::string& name, const std::string& error) {
    failure_ = "cannot read the " + name + ": " + error;
    changed_.set();
  });
  records_.emplace(context_.runtime, *store_, logger("nodepool.model"));
}

template <typename Table>
Task<Table*> Session::complete(Kind kind, Table model::Records::* part) {
  co_await open();
  Table& table = (*records_).*part;
  // A daemon waits until an operator has corrected what forbids to read them; a command ends.
  const coordination::Subscription failures =
      table.observe_failures([this](const std::string& reason) {
        failure_ = "cannot read the records: " + reason;
        changed_.set();
      });
  records_->follow(*scope_, {kind});
  const coordination::Subscription readiness = records_->observe_ready([this] { changed_.set(); });
  while (!table.ready()) {
    if (!failure_.empty()) throw std::runtime_error(failure_);
    co_await changed_.wait();
  }
  co_return &table;
}

template Task<model::NodeTable*> Session::complete(Kind, model::NodeTable model::Records::*);
template Task<model::RequestTable*> Session::complete(Kind, model::RequestTable model::Records::*);
template Task<model::ComponentTable*> Session::complete(Kind,
                                                        model::ComponentTable model::Records::*);
template Task<model::ImageTable*> Session::complete(Kind, model::ImageTable model::Records::*);

std::vector<coordination::Subscription> Session::observe(const std::function<void()>& observer) {
  const auto call = [observer](const auto& /*change*/) { observer(); };
  std::vector<coordination::Subscription> subscriptions;
  subscriptions.push_back(records_->nodes.observe(call));
  subscriptions.push_back(records_->nodes.observe_locks(call));
  subscriptions.push_back(records_->requests.observe(call));
  subscriptions.push_back(records_->components.observe(call));
  subscriptions.push_back(records_->images.observe(call));
  return subscriptions;
}

Task<> Session::stop_following() {
  if (!store_) co_return;
  co_await scope_->stop();
  make_tables();
}

Task<> Session::close() {
  if (!store_) co_return;
  co_await scope_->stop();
  co_await store_->close();
}

}  // namespace nodepool::cli
