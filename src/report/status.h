#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/component_table.h"
#include "model/host_report.h"
#include "model/image_table.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "report/table.h"

// The state of an installation, and its problems.
namespace nodepool::report {

// The store that the records are read from.
struct StoreDescription {
  std::string kind;                  // "sqlite", "zookeeper"
  std::string place;                 // the file, or the connected server
  std::optional<std::int64_t> size;  // bytes on disk; nothing: unknown to clients
  std::string problem = {};          // a sentence; empty: none
};

// The input of status_of(). Everything outlives the call.
struct StatusSources {
  const model::NodeTable& nodes;
  const model::RequestTable& requests;
  const model::ComponentTable& components;
  const model::ImageTable& images;
  std::vector<model::HostReport> hosts;  // unhealthy
  StoreDescription store;
  // As configured on this host.
  std::set<std::string> providers;
  std::set<std::string> diskimages;
  double now = 0;         // seconds since the epoch
  double wait_limit = 0;  // seconds that a request may wait before it is a problem
};

enum class StatusLevel {
  fine,
  attention,  // works, but has problems
  critical,   // requests are not served
};

// "fine", "attention", "critical".
std::string_view to_string(StatusLevel level);

struct StatusSection {
  std::string key;    // for programs: stable
  std::string title;  // for people
  Table table;
};

struct Status {
  StatusLevel level = StatusLevel::fine;
  // The problems come first, a sentence each, the worst first.
  std::vector<StatusSection> sections;
};

Status status_of(const StatusSources& sources);

}  // namespace nodepool::report
