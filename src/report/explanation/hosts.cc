#include "report/explanation/hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>

namespace nodepool::report {

namespace {

using model::HostReport;
using model::Node;

std::string next_poll(const HostReport& report) {
  return fmt::format("{} checks it again within {}", report.launcher,
                     duration_text(report.next_check));
}

std::string unhealthy_text(const ExplanationFacts& knowledge, const HostReport& report) {
  return fmt::format("unhealthy for {}: {}", duration_text(knowledge.now - report.since),
                     report.problem);
}

// The reports of the pool's launcher about hosts with one of the labels.
std::vector<const HostReport*> reports_of(const ExplanationFacts& knowledge,
                                          const model::Component& pool,
                                          const std::vector<std::string>& labels) {
  std::vector<const HostReport*> reports;
  for (const HostReport& report : knowledge.hosts) {
    const bool concerns = report.provider == pool.provider_name && report.pool == pool.name &&
                          report.launcher == pool.hostname &&
                          std::ranges::find_first_of(report.labels, labels) != report.labels.end();
    if (concerns) reports.push_back(&report);
  }
  return reports;
}

// "host1, host2": the first names.
std::string first_of(const std::set<std::string>& names, std::size_t most) {
  const std::size_t shown = std::min(names.size(), most);
  const auto end = std::next(names.begin(), static_cast<std::ptrdiff_t>(shown));
  return fmt::format("{}{}", fmt::join(names.begin(), end, ", "),
                     shown < names.size() ? ", …" : "");
}

// The hosts on which the reader sees a node; nothing: it sees all hosts.
std::optional<std::set<std::string_view>> visible_hosts(const ExplanationFacts& knowledge,
                                                        const model::Component& pool) {
  if (!knowledge.may_name) return std::nullopt;
  std::set<std::string_view> hosts;
  for (const std::string& id : knowledge.nodes.of_provider(pool.provider_name)) {
    const Node& node = *knowledge.nodes.find(id);
    if (node.hostname && knowledge.may_name(id)) hosts.insert(*node.hostname);
  }
  return hosts;
}

std::vector<const Node*> nodes_of(const ExplanationFacts& knowledge, std::string_view host) {
  std::vector<const Node*> nodes;
  for (const auto& [id, node] : knowledge.nodes.all()) {
    if (node.slot && node.hostname == host) nodes.push_back(&node);
  }
  return nodes;
}

}  // namespace

std::vector<const Node*> nodes_with(const ExplanationFacts& knowledge, const model::Component& pool,
                                    const std::vector<std::string>& labels) {
  std::vector<const Node*> nodes;
  for (const std::string& id : knowledge.nodes.of_provider(pool.provider_name)) {
    const Node& node = *knowledge.nodes.find(id);
    const auto has = [&node](const std::string& label) { return node.has_label(label); };
    if (node.pool == pool.name && std::ranges::any_of(labels, has)) nodes.push_back(&node);
  }
  return nodes;
}

void explain_hosts(Statements& to, const ExplanationFacts& knowledge, const model::Component& pool,
                   const std::vector<std::string>& labels, std::size_t most) {
  std::set<std::string> names;
  for (const Node* node : nodes_with(knowledge, pool, labels)) {
    if (node->slot && node->hostname && is_visible(knowledge.may_name, node->id)) {
      names.insert(*node->hostname);
    }
  }
  say_of(to, "hosts", first_of(names, most));
  const std::vector<const HostReport*> reports = reports_of(knowledge, pool, labels);
  if (reports.empty()) return;
  const auto visible = visible_hosts(knowledge, pool);
  const std::size_t shown = std::min(reports.size(), most);
  for (const HostReport* report : std::span(reports).first(shown)) {
    if (visible && !visible->contains(report->host)) {
      say(to, "unhealthy-host",
          fmt::format("a host is unhealthy for {}", duration_text(knowledge.now - report->since)));
      continue;
    }
    say(to, "unhealthy-host",
        fmt::format("host {} on port {} is {}; {}", report->host, report->port,
                    unhealthy_text(knowledge, *report), next_poll(*report)));
  }
  if (reports.size() > shown) {
    say(to, "unhealthy-hosts",
        fmt::format("… and {} more hosts are unhealthy", reports.size() - shown));
  }
}

std::string unhealthy_host(const ExplanationFacts& knowledge, const model::Component& pool,
                           const std::vector<std::string>& labels) {
  const std::vector<const HostReport*> reports = reports_of(knowledge, pool, labels);
  if (reports.empty()) return {};
  const std::string others =
      reports.size() > 1 ? fmt::format(" (and {} others)", reports.size() - 1) : "";
  const auto visible = visible_hosts(knowledge, pool);
  if (visible && !visible->contains(reports.front()->host)) {
    return "a host is unhealthy" + others;
  }
  return fmt::format("{} is unhealthy: {}{}", reports.front()->host, reports.front()->problem,
                     others);
}

bool knows_host(const ExplanationFacts& knowledge, std::string_view host) {
  return std::ranges::find(knowledge.hosts, host, &HostReport::host) != knowledge.hosts.end() ||
         !nodes_of(knowledge, host).empty();
}

Explanation explain_host(const ExplanationFacts& knowledge, std::string_view host) {
  Explanation explanation;
  Statements& facts = say(explanation.statements, "host", fmt::format("Host {}", host)).details;
  for (const HostReport& report : knowledge.hosts) {
    if (report.host != host) continue;
    Statement& account =
        say(facts, "account",
            fmt::format("{} on port {}, of pool {}-{}, label(s) {}", report.username, report.port,
                        report.provider, report.pool, fmt::join(report.labels, ", ")));
    say(account.details, "out-of-order",
        fmt::format("{}; {}", unhealthy_text(knowledge, report), next_poll(report)));
  }
  for (const Node* node : nodes_of(knowledge, host)) {
    say(facts, "node",
        fmt::format("node {}, slot {}, of pool {}-{} is {} for {}", node->id, *node->slot,
                    node->provider.value_or("?"), node->pool.value_or("?"), to_string(node->state),
                    duration_text(knowledge.now - node->state_time)));
  }
  return explanation;
}

std::string unhealthy_hosts(const std::vector<HostReport>& hosts) {
  std::set<std::string> names;
  for (const HostReport& report : hosts) names.insert(report.host);
  if (names.empty()) return {};
  return fmt::format("{} unhealthy host(s): {}; see `nodepool explain HOST`", names.size(),
                     first_of(names, kMostHosts));
}

}  // namespace nodepool::report
