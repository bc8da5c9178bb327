#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordination/store.h"

namespace nodepool::model {

// That a host which stands for nodes is unhealthy, as one launcher sees it:
// /nodepool/hosts/<any name>, ephemeral, and only there while the host is unhealthy. Times are
// seconds.
struct HostReport {
  std::string provider;
  std::string pool;
  std::string host;  // as the configuration calls it
  std::string username;
  std::int64_t port = 0;
  std::vector<std::string> labels;
  std::string problem;   // for people
  double since = 0;      // since the epoch
  double next_look = 0;  // the launcher looks again at such intervals, or sooner
  std::string launcher;  // host name of the one who says so

  friend bool operator==(const HostReport&, const HostReport&) = default;
};

// Reads a report. Throws RecordError.
HostReport parse_host_report(const coordination::Entry& entry);

// The record's text.
std::string to_record(const HostReport& report);

// Sorts reports by host and port.
void sort_reports(std::vector<HostReport>& reports);

// All reports that can be read, sorted. Throws StoreError.
coordination::Task<std::vector<HostReport>> read_host_reports(coordination::Store& store);

}  // namespace nodepool::model
