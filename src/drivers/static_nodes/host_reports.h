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

// Tells the commands which hosts are unhealthy: keeps a record of each in the store
// (model/host_report.h) for as long as it is. Nothing is written while all are well.
class HostReports {
 public:
  HostReports(const async::Runtime& runtime, coordination::Store& store, telemetry::Logger log);

  // Begins to write what is reported.
  void start();

  // The host is unhealthy. Written soon, if it is news.
  void report(const HostKey& host, model::HostReport report);

  // The host is well.
  void clear(const HostKey& host);

  // Ends the work, having removed all records if the store is in reach. (If not, they go with the
  // session.)
  async::Task<> stop();

 private:
  struct Record {
    std::string id;
    std::string wanted;  // its text; empty: there is to be none
    std::string written;
    std::string path;        // where it was written; the session is part of it
    bool uncertain = false;  // a write has not been answered
  };

  async::Task<> run();
  // Writes what has changed. Throws StoreError.
  async::Task<> write_all();
  async::Task<> write(Record& record);

  async::Runtime runtime_;
  coordination::Store& store_;
  telemetry::Logger log_;
  std::map<HostKey, Record> records_;
  async::Event changed_{"a host's report is to be written"};
  coordination::Subscription session_;
  async::TaskScope scope_;
};

}  // namespace nodepool::drivers::static_nodes
