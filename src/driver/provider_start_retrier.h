#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// Providers that could not be started: their credentials are not there yet, say, and nobody tells
// when they are. They are tried again with growing pauses, until that succeeds or the
// configuration changes.
class ProviderStartRetrier {
 public:
  // Tries those that are missing; returns whether none is any more.
  using Start = std::function<async::Task<bool>()>;

  ProviderStartRetrier(const async::Runtime& runtime, telemetry::Logger log);

  // A start has failed. What is new goes to the log; returns whether it is the first failure.
  bool failed(const std::string& provider, const std::string& reason);
  void succeeded(const std::string& provider);

  // Those that have not started, each with why.
  const std::map<std::string, std::string>& failures() const { return failures_; }

  // From now on what is missing is tried again by `start`.
  void begin(Start start);

  // Ends that, also a start that is under way.
  async::Task<> stop();

 private:
  async::Task<> run(Start start);

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::map<std::string, std::string> failures_;  // by provider, in words
  std::unique_ptr<async::TaskScope> scope_;
};

}  // namespace nodepool::driver
