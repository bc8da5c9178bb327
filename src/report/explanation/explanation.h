#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "history/entry.h"
#include "model/component.h"
#include "model/host_report.h"
#include "model/node_request.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "report/explanation/clouds.h"
#include "report/explanation/statement.h"

// Why a request waits, what becomes of a node, how a label is doing: from the records, the rules
// that the launchers decide by (planning/decision.h), and what they have written down of their
// decisions.
namespace nodepool::report {

// What an explanation is made from. Outlives it.
struct ExplanationFacts {
  double now = 0;  // seconds since the epoch
  const model::NodeTable& nodes;
  const model::ImageTable& images;
  const model::RequestTable& requests;
  std::vector<const model::Component*> pools;  // those that are registered
  const config::Config& config;
  const Providers& providers;            // those of `config`
  std::vector<model::HostReport> hosts;  // those that are unhealthy
  // What the journal of this host has of a request or node; empty if it has none.
  std::function<std::vector<history::Entry>(const std::string& id)> history;
};

// For a request: its place in line, what each pool has made of it with the figures
// that it decided by, and what would let it go on; of pools that make machines the room there is.
Explanation explain_request(const ExplanationFacts& knowledge, const model::NodeRequest& request);

// For a node: who has it, since when, how far its launch has come, and what happens to it next.
Explanation explain_node(const ExplanationFacts& knowledge, const model::Node& node);

// For a label: who offers it, what there is of it, who waits for it, and why.
Explanation explain_label(const ExplanationFacts& knowledge, const std::string& label);

}  // namespace nodepool::report
