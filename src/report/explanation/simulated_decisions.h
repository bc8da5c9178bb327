#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "driver/driver.h"
#include "model/component_table.h"
#include "model/node_table.h"
#include "model/request_table.h"
#include "planning/verdict.h"
#include "report/explanation/clouds.h"

namespace nodepool::report {

// The explained request, and the records that pools decide by. Outlives its users.
struct SimulationInput {
  double now = 0;  // seconds since the epoch
  model::NodeTable& nodes;
  const model::RequestTable& requests;
  const model::ComponentTable& components;
  const planning::TenantLimits& tenant_limits;
  std::string request_id;
};

// Adds the decision of each registered pool of the provider, which makes this offer, about the
// request to `facts`, by the launcher's rules (planning/decision_simulator.h). Adds nothing if the
// request does not wait.
void simulate_decisions(const SimulationInput& input, std::shared_ptr<const driver::Offer> offer,
                        const planning::QuotaFacts& quota, ProviderFacts& facts);

}  // namespace nodepool::report
