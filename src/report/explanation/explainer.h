#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "config/config.h"
#include "driver/driver.h"
#include "model/component_table.h"
#include "report/explanation/explanation.h"
#include "report/explanation/simulated_decisions.h"
#include "telemetry/log.h"

namespace nodepool::report {

using async::Task;

// What explanations are gathered from. All outlives the gathering.
struct Sources {
  async::Runtime runtime;
  coordination::Store& store;
  model::NodeTable& nodes;
  model::ImageTable& images;
  const model::RequestTable& requests;
  const model::ComponentTable& components;
  const config::Config& config;
  const driver::DriverRegistry& drivers;
  async::ThreadPool& threads;
  telemetry::Logger log;
  // What the journal of this host has of a request or node.
  std::function<std::vector<history::Entry>(const std::string& id)> history;
};

// Adds to the facts what only a cloud knows, about the labels that the subject is about; with what
// is foreseen of a request, if it is one.
using AskClouds = std::function<Task<>(std::vector<std::string> labels,
                                       const SimulationInput* input, Providers& providers)>;

// What there is to say about a request, a node, a lease, a label or a host. `ask_clouds` may be
// empty: then they are not asked. Nothing if nothing is known of the subject. Throws StoreError,
// and what `ask_clouds` throws.
Task<std::optional<Explanation>> explain(Sources sources, std::string subject,
                                         AskClouds ask_clouds);

}  // namespace nodepool::report
