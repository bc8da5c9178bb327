#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/explanation/explanation.h"
#include "report/explanation/statement.h"

namespace nodepool::report {

// For a pool and a label: which of its hosts are unhealthy, and why. Nothing if all are well.
void explain_hosts(Statements& to, const ExplanationFacts& knowledge, const model::Component& pool,
                   const std::string& label);

// Whether anything is known of a host of this name: nodes stand for it, or it is unhealthy.
bool knows_host(const ExplanationFacts& knowledge, std::string_view host);

// For a host: what is wrong with it, as each launcher sees it, and its nodes.
Explanation explain_host(const ExplanationFacts& knowledge, std::string_view host);

// The hosts that are unhealthy in one line; empty if there are none.
std::string unhealthy_hosts(const std::vector<model::HostReport>& hosts);

}  // namespace nodepool::report
