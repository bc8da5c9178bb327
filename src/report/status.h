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

// How an installation is doing, and what in it needs somebody.
namespace nodepool::report {

// The store that the records are read from.
struct StoreDescription {
  std::string kind;                  // "sqlite", "zookeeper"
  std::string place;                 // the file, or the server that is connected to
  std::optional<std::int64_t> size;  // bytes on the disk; nothing: only its servers know
};

// What is known of the installation. Everything is there while it is described.
struct StatusSources {
  const model::NodeTable& nodes;
  const model::RequestTable& requests;
  const model::ComponentTable& components;
  const model::ImageTable& images;
  std::vector<model::HostReport> hosts;  // that are unhealthy
  StoreDescription store;
  // As configured where the status is asked for.
  std::set<std::string> providers;
  std::set<std::string> diskimages;
  double now = 0;       // seconds since the epoch
  double patience = 0;  // seconds a request may wait
};

enum class StatusLevel {
  fine,
  attention,  // it works, and something needs somebody
  critical,   // nobody hands out nodes
};

// "fine", "attention", "critical".
std::string_view to_string(StatusLevel level);

struct StatusSection {
  std::string key;    // for programs: it does not change
  std::string title;  // for people
  Table table;
};

struct Status {
  StatusLevel level = StatusLevel::fine;
  // Problems first: what needs somebody, a sentence each, the worst first.
  std::vector<StatusSection> sections;
};

Status status_of(const StatusSources& sources);

}  // namespace nodepool::report
