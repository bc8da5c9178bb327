#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "cli/context.h"
#include "coordination/store_use.h"
#include "model/records.h"
#include "telemetry/log.h"

namespace nodepool::cli {

using async::Task;

// The configuration, the store and its records, for one command.
class Session {
 public:
  Session(Context& context, config::Config config, coordination::StoreUse use,
          std::shared_ptr<telemetry::Log> log);

  // Opens the store, if it is not open. Throws what Context::open_store throws.
  Task<> open();

  Context& context() { return context_; }
  const async::Runtime& runtime() const { return context_.runtime; }
  const config::Config& config() const { return config_; }
  coordination::Store& store() { return *store_; }  // which is open
  telemetry::Logger logger(std::string name) const { return {log_, std::move(name)}; }

  // The time, in seconds since the epoch.
  double now() const { return context_.runtime.clock.wall_seconds(); }

  // The tables of records, complete, and kept up to date until stop_following() or close(). Each is
  // read at its first use, and the store is opened. Throw std::runtime_error if the records cannot
  // be read.
  Task<model::NodeTable*> nodes() { return complete(Kind::nodes, &model::Records::nodes); }
  Task<model::RequestTable*> requests() {
    return complete(Kind::requests, &model::Records::requests);
  }
  Task<model::ComponentTable*> components() {
    return complete(Kind::components, &model::Records::components);
  }
  Task<model::ImageTable*> images() { return complete(Kind::images, &model::Records::images); }

  // Calls `observer` after each change of the tables that are in use. The store is open.
  std::vector<coordination::Subscription> observe(const std::function<void()>& observer);

  // Stops following the store and drops the tables: pointers to them become invalid.
  Task<> stop_following();

  // Closes the store, if it is open. That removes the session's locks and requests.
  Task<> close();

 private:
  using Kind = model::Records::Kind;

  void make_tables();
  template <typename Table>
  Task<Table*> complete(Kind kind, Table model::Records::* part);

  Context& context_;
  config::Config config_;
  coordination::StoreUse use_;
  std::shared_ptr<telemetry::Log> log_;
  std::unique_ptr<coordination::Store> store_;
  std::optional<model::Records> records_;
  async::Event changed_;  // a table is complete, or could not be read
  std::string failure_;
  std::optional<async::TaskScope> scope_;  // of the tables
};

}  // namespace nodepool::cli
