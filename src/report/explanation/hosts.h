#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/explanation/explanation.h"
#include "report/explanation/statement.h"

namespace nodepool::report {

// For a pool and a label: its unhealthy hosts and their problems.
void explain_hosts(Statements& to, const ExplanationFacts& knowledge, const model::Component& pool,
                   const std::string& label);

// Whether the host has nodes or is unhealthy.
bool knows_host(const ExplanationFacts& knowledge, std::string_view host);

// For a host: its problem as seen by each launcher, and its nodes.
Explanation explain_host(const ExplanationFacts& knowledge, std::string_view host);

// One line about the unhealthy hosts; empty if there are none.
std::string unhealthy_hosts(const std::vector<model::HostReport>& hosts);

}  // namespace nodepool::report
