#pragma once

#include <set>
#include <string>

#include "driver/driver.h"
#include "launcher/context.h"
#include "launcher/history_recorder.h"
#include "telemetry/log.h"

namespace nodepool::launcher {

// The nodes of one provider whose machines have ended though nobody has asked for that: a spot
// instance that its cloud has taken away, say.
class TerminatedMachineDetector {
 public:
  // Everything outlives it.
  TerminatedMachineDetector(const WorkerContext& context, HistoryRecorder& history,
                            driver::Provider& provider, telemetry::Logger log);

  // Asks the provider about every node that somebody has, or may get. One that is free is taken out
  // of service. One that somebody has stays his: the history tells of it, and its record's comment
  // if that is empty. Throws what the provider throws, StoreError.
  Task<> look();

 private:
  Task<> lost(std::string id, std::string reason);
  Task<> take_out_of_service(std::string id, std::string reason);
  Task<> comment(std::string id, std::string reason);

  const WorkerContext& context_;
  HistoryRecorder& history_;
  driver::Provider& provider_;
  telemetry::Logger log_;
  std::set<std::string> told_;  // ids of those that the history has
};

// Has the record say why its machine has ended, unless it says something already.
void set_termination_reason(model::Node& node, const std::string& reason);

}  // namespace nodepool::launcher
