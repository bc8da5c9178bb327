#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "history/journal.h"
#include "history/waits.h"
#include "model/component_table.h"
#include "model/host_report.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "report/explanation/clouds.h"
#include "report/explanation/statement.h"

// Explains requests and nodes from the records, the launchers' rules
// (planning/decision.h) and the decisions in the journal.
namespace nodepool::report {

// The host of the history.
struct OwnHost {
  std::string name;       // as its components have it
  double last_entry = 0;  // the time of the last entry, in seconds since the epoch
};

// The input of an explanation. Outlives it.
struct ExplanationFacts {
  double now = 0;  // seconds since the epoch
  const model::NodeTable& nodes;
  const model::ImageTable& images;
  const model::RequestTable& requests;
  const model::ComponentTable& components;
  std::vector<const model::Component*> pools;  // registered
  const config::Config& config;
  const Providers& providers;            // of `config`
  std::vector<model::HostReport> hosts;  // unhealthy
  // What the journal of this host has of a request or node.
  std::function<history::SubjectHistory(const std::string& id)> history;
  const history::Waits& waits;  // in the journal of this host
  // Nothing: the history has no entries, or a launcher explains.
  std::optional<OwnHost> own_host;
  std::set<std::string> own_pools;  // in a launcher: the ids of its pools
  // In a launcher: the last decisions of its own pools about a request; nullptr: there are none.
  std::function<const PoolDecisions*(const std::string& request_id)> decisions;
  std::string subject;  // the id of the explained request, node, lease, label or host
  // From the above, once for all statements: they would read the records again for each request
  // and pool.
  RecordedUsage& usage;
  MayName may_name = {};                                 // what is named to the reader
  std::map<std::string, std::string> unresponsive = {};  // see silent_pools.h

  // Returns nullptr if the provider is not configured on this host.
  const ProviderFacts* provider(std::string_view name) const;

  MachineRecords machine_records() const;
};

// For a request: its position in the queue, each pool's decision with its figures and what would
// change it, and the capacity of pools that launch machines.
Explanation explain_request(const ExplanationFacts& knowledge, const model::NodeRequest& request);

// For a node: its holder, the progress of its launch, and what happens to it next.
Explanation explain_node(const ExplanationFacts& knowledge, const model::Node& node);

}  // namespace nodepool::report
