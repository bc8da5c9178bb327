#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/explanation/explanation.h"
#include "report/explanation/statement.h"

namespace nodepool::report {

// The most hosts that are named where they are not the subject.
inline constexpr std::size_t kMostHosts = 10;

// The nodes of the pool that have one of the labels, in order of their ids.
std::vector<const model::Node*> nodes_with(const ExplanationFacts& knowledge,
                                           const model::Component& pool,
                                           const std::vector<std::string>& labels);

// For a pool and labels: the static hosts of nodes with one of the labels, and the unhealthy hosts
// and their problems; of both at most `most`.
void explain_hosts(Statements& to, const ExplanationFacts& knowledge, const model::Component& pool,
                   const std::vector<std::string>& labels, std::size_t most = kMostHosts);

// "host2 is unhealthy: …": the first unhealthy host of the pool with one of the labels, and how
// many others there are; empty if there is none.
std::string unhealthy_host(const ExplanationFacts& knowledge, const model::Component& pool,
                           const std::vector<std::string>& labels);

// Whether the host has nodes or is unhealthy.
bool knows_host(const ExplanationFacts& knowledge, std::string_view host);

// For a host: its problem as seen by each launcher, and its nodes.
Explanation explain_host(const ExplanationFacts& knowledge, std::string_view host);

// One line about the unhealthy hosts; empty if there are none.
std::string unhealthy_hosts(const std::vector<model::HostReport>& hosts);

}  // namespace nodepool::report
