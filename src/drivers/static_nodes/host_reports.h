#pragma once

#include <map>
#include <string>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "coordination/store.h"
#include "drivers/static_nodes/static_config.h"
#include "model/host_report.h"
#include "telemetry/log.h"

namespace nodepool::drivers::static_nodes {

// Publishes unhealthy hosts for the commands: keeps a record of each in the store
// (model/host_report.h). Writes nothing while all hosts are healthy.
class HostReports {
 public:
  HostReports(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log);

  // Begins to write reports.
  void start();

  // The host is unhealthy. Writes a changed report in the background.
  void report(const HostKey& host, model::HostReport report);

  // The host is healthy: removes its report in the background.
  void clear(const HostKey& host);

  // Removes all records and stops. If the store is unreachable, they end with the session.
  async::Task<> stop();

 private:
  struct Record {
    std::string id;
    std::string wanted;  // its text; empty: none
    std::string written;
    std::string path;        // of the written record; contains the session id
    bool uncertain = false;  // the outcome of the last write is unknown
  };

  async::Task<> run();
  // Writes all changed records. Throws StoreError.
  async::Task<> write_all();
  async::Task<> write(Record& record);

  async::Runtime runtime_;
  coordination::Store& store_;
  telemetry::Logger log_;
  std::map<HostKey, Record> records_;
  async::Event changed_{"a host's report has changed"};
  coordination::Subscription session_;
  async::TaskScope scope_;
};

}  // namespace nodepool::drivers::static_nodes
