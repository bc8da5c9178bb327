#pragma once

#include <set>
#include <string>

#include "driver/driver.h"
#include "launcher/context.h"
#include "launcher/history_recorder.h"
#include "telemetry/log.h"

namespace nodepool::launcher {

// Detects nodes of one provider whose machines ended by themselves, for example reclaimed spot
// instances.
class TerminatedMachineDetector {
 public:
  // Everything outlives it.
  TerminatedMachineDetector(const WorkerContext& context, HistoryRecorder& history,
                            driver::Provider& provider, telemetry::Logger log);

  // Asks the provider about all nodes that are ready, in use or held. Takes free nodes out of
  // service. For others, writes the reason to the history and to an empty comment of the record.
  // Throws what the provider throws, StoreError.
  Task<> check();

 private:
  Task<> handle_terminated(std::string id, std::string reason);
  Task<> take_out_of_service(std::string id, std::string reason);
  Task<> comment(std::string id, std::string reason);

  const WorkerContext& context_;
  HistoryRecorder& history_;
  driver::Provider& provider_;
  telemetry::Logger log_;
  std::set<std::string> reported_;  // ids of nodes in the history
};

// Sets the comment of the record to the reason, unless it has a comment.
void set_termination_reason(model::Node& node, const std::string& reason);

}  // namespace nodepool::launcher
