#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "config/config.h"
#include "driver/driver.h"
#include "history/waits.h"
#include "model/component_table.h"
#include "report/explanation/explanation.h"
#include "report/explanation/simulated_decisions.h"

namespace nodepool::report {

using async::Task;

// The providers of the configuration, or why they are invalid on this host. Reads files.
Providers configured_providers(const config::Config& config, const driver::DriverRegistry& drivers);

// The input of explain(). Everything outlives the call.
struct Sources {
  double now = 0;  // seconds since the epoch
  coordination::Store& store;
  model::NodeTable& nodes;
  model::ImageTable& images;
  const model::RequestTable& requests;
  const model::ComponentTable& components;
  const config::Config& config;
  Providers providers;
  // What the journal of this host has of a request or node.
  std::function<history::SubjectHistory(const std::string& id)> history;
  history::Waits waits = {};  // in the journal of this host
  // Nothing: the history has no entries, or a launcher explains.
  std::optional<OwnHost> own_host = {};
  std::set<std::string> own_pools = {};  // in a launcher: the ids of its pools
  // In a launcher: the last decisions of its own pools about a request, which replace simulated
  // ones; nullptr: there are none.
  std::function<const PoolDecisions*(const std::string& request_id)> decisions = {};
  MayName may_name = {};  // other requests and nodes are counted, but not named
};

// Adds the facts that only a cloud knows about these labels to `providers`. `input` is nullptr
// unless a request is explained.
using AskClouds = std::function<Task<>(std::vector<std::string> labels,
                                       const SimulationInput* input, Providers& providers)>;

// Explains a request, node, lease, label or host, and by the journal a request or node that no
// longer exists. If `ask_clouds` is empty, no cloud is asked. Returns nothing if the subject is
// unknown, or if the reader may not see it. Throws StoreError, and what `ask_clouds` throws.
Task<std::optional<Explanation>> explain(Sources sources, std::string subject,
                                         AskClouds ask_clouds);

}  // namespace nodepool::report
