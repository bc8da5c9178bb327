#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "history/entry.h"
#include "history/waits.h"
#include "model/component.h"
#include "model/host_report.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "report/explanation/clouds.h"
#include "report/explanation/statement.h"

// Explains requests, nodes and labels from the records, the launchers' rules
// (planning/decision.h) and the decisions in the journal.
namespace nodepool::report {

// The input of an explanation. Outlives it.
struct ExplanationFacts {
  double now = 0;  // seconds since the epoch
  const model::NodeTable& nodes;
  const model::ImageTable& images;
  const model::RequestTable& requests;
  std::vector<const model::Component*> pools;  // registered
  const config::Config& config;
  const Providers& providers;            // of `config`
  std::vector<model::HostReport> hosts;  // unhealthy
  // The journal entries of this host about a request or node.
  std::function<std::vector<history::JournalEntry>(const std::string& id)> history;
  const history::Waits& waits;  // in the journal of this host
  // From the above, once for all statements: they would read the records again for each request
  // and pool.
  RecordedUsage& usage;
  std::map<std::string, std::string> unresponsive = {};  // see silent_pools.h
};

// For a request: its position in the queue, each pool's decision with its figures and what would
// change it, and the capacity of pools that launch machines.
Explanation explain_request(const ExplanationFacts& knowledge, const model::NodeRequest& request);

// For a node: its holder, the progress of its launch, and what happens to it next.
Explanation explain_node(const ExplanationFacts& knowledge, const model::Node& node);

// For a label: its pools and nodes. `waiting` gets the ids of the requests that wait for it, in the
// order of the queue.
Explanation explain_label(const ExplanationFacts& knowledge, const std::string& label,
                          std::vector<std::string>& waiting);

}  // namespace nodepool::report
