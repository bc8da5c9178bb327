#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "telemetry/log.h"

namespace nodepool::lifecycle {

// Retries to start providers that failed to start, with exponential backoff (5 s to 5 min), until
// all have started or the configuration changes.
class ProviderStartRetrier {
 public:
  // Tries to start the missing providers; returns whether all have started.
  using Start = std::function<async::Task<bool>()>;

  ProviderStartRetrier(const async::Runtime& runtime, telemetry::Logger log);

  // Records a failed start, and logs a new reason.
  void failed(const std::string& provider, const std::string& reason);
  // Records a start that succeeded.
  void succeeded(const std::string& provider);
  // The provider was removed.
  void forget(const std::string& provider) { failures_.erase(provider); }

  // The providers that have not started, each with the reason.
  const std::map<std::string, std::string>& failures() const { return failures_; }

  // Starts retrying in the background by calling `start`.
  void begin(Start start);

  // Stops retrying, and cancels a start in progress.
  async::Task<> stop();

 private:
  async::Task<> run(Start start);

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::map<std::string, std::string> failures_;  // reasons by provider
  std::unique_ptr<async::TaskScope> scope_;
};

}  // namespace nodepool::lifecycle
