#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordination/store.h"

namespace nodepool::model {

// A launcher's report that a host of static nodes is unhealthy: /nodepool/hosts/<any name>,
// ephemeral. Exists while the host is unhealthy. Times are in seconds.
struct HostReport {
  std::string provider;
  std::string pool;
  std::string host;  // as configured
  std::string username;
  std::int64_t port = 0;
  std::vector<std::string> labels;
  std::string problem;    // for people
  double since = 0;       // since the epoch
  double next_check = 0;  // the longest interval of the launcher's checks
  std::string launcher;   // host name of the reporting launcher

  friend bool operator==(const HostReport&, const HostReport&) = default;
};

// Parses a report. Throws RecordError.
HostReport parse_host_report(const coordination::Entry& entry);

// The record's text.
std::string to_record(const HostReport& report);

// Sorts reports by host and port.
void sort_reports(std::vector<HostReport>& reports);

// All valid reports, sorted. Throws StoreError.
coordination::Task<std::vector<HostReport>> read_host_reports(coordination::Store& store);

}  // namespace nodepool::model
