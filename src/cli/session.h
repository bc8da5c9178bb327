#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "cli/context.h"
#include "model/records.h"
#include "telemetry/log.h"

namespace nodepool::cli {

using async::Task;

// The configuration, the open store and its records, for one command.
class Session {
 public:
  Session(Context& context, config::Config config, std::unique_ptr<coordination::Store> store,
          std::shared_ptr<telemetry::Log> log);

  Context& context() { return context_; }
  const async::Runtime& runtime() const { return context_.runtime; }
  const config::Config& config() const { return config_; }
  coordination::Store& store() { return *store_; }
  telemetry::Logger logger(std::string name) const { return {log_, std::move(name)}; }

  // The time, in seconds since the epoch.
  double now() const { return context_.runtime.clock.wall_seconds(); }

  // The tables of records, complete, and kept up to date until the session is closed. Each is read
  // at its first use. Throw std::runtime_error if the records cannot be read.
  Task<model::NodeTable*> nodes() { return complete(Kind::nodes, records_.nodes); }
  Task<model::RequestTable*> requests() { return complete(Kind::requests, records_.requests); }
  Task<model::ComponentTable*> components() {
    return complete(Kind::components, records_.components);
  }
  Task<model::ImageTable*> images() { return complete(Kind::images, records_.images); }

  // Calls `observer` after each change of the tables that are in use.
  std::vector<coordination::Subscription> observe(const std::function<void()>& observer);

  // Closes the store. That removes the session's locks and requests.
  Task<> close();

 private:
  using Kind = model::Records::Kind;

  template <typename Table>
  Task<Table*> complete(Kind kind, Table& table);

  Context& context_;
  config::Config config_;
  std::unique_ptr<coordination::Store> store_;
  std::shared_ptr<telemetry::Log> log_;
  model::Records records_;
  async::Event changed_;  // a table is complete, or could not be read
  std::string failure_;
  async::TaskScope scope_;
};

}  // namespace nodepool::cli
