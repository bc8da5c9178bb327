#pragma once

#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/task_scope.h"
#include "cli/context.h"
#include "model/component_table.h"
#include "model/image_table.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "telemetry/log.h"

namespace nodepool::cli {

using async::Task;

// What a command works with once the configuration is loaded and the store is open.
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

  // The records, complete, and followed until the session is closed. Each is read when it is first
  // asked for. Throw StoreError.
  Task<model::NodeTable*> nodes() { return complete(nodes_, "nodes"); }
  Task<model::RequestTable*> requests() { return complete(requests_, "requests"); }
  Task<model::ComponentTable*> components() { return complete(components_, "components"); }
  Task<model::ImageTable*> images() { return complete(images_, "images"); }

  // Ends everything; the session's locks and requests are gone.
  Task<> close();

 private:
  template <typename Table>
  Task<Table*> complete(std::optional<Table>& table, std::string name);

  Context& context_;
  config::Config config_;
  std::unique_ptr<coordination::Store> store_;
  std::shared_ptr<telemetry::Log> log_;
  std::optional<model::NodeTable> nodes_;
  std::optional<model::RequestTable> requests_;
  std::optional<model::ComponentTable> components_;
  std::optional<model::ImageTable> images_;
  async::Event changed_;  // a table is complete, or has failed
  std::string failure_;
  async::TaskScope scope_;
};

}  // namespace nodepool::cli
