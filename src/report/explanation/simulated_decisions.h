#pragma once

#include <string>

#include "config/config.h"
#include "driver/driver.h"
#include "model/component_table.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "planning/verdict.h"
#include "report/explanation/clouds.h"

namespace nodepool::report {

// The request that is explained, and what a pool decides by that is in the records. Outlives its
// users.
struct SimulationInput {
  double now = 0;  // seconds since the epoch
  model::NodeTable& nodes;
  const model::RequestTable& requests;
  const model::ComponentTable& components;
  const planning::TenantLimits& tenant_limits;
  std::string request_id;
};

// Adds to the facts what each registered pool of the provider would decide about the request, by
// the rules of its launcher (planning/decision_simulator.h). Nothing if the request does not wait.
void simulate_decisions(const SimulationInput& input, driver::Provider& provider,
                        const planning::QuotaFacts& quota, ProviderFacts& facts);

}  // namespace nodepool::report
