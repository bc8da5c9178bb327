#include "report/explanation/explainer.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "report/explanation/ended.h"
#include "report/explanation/hosts.h"
#include "report/explanation/labels.h"
#include "report/explanation/leases.h"
#include "report/explanation/silent_pools.h"

namespace nodepool::report {

namespace {

// The most requests that the explanation of a label shows.
constexpr std::size_t kMostRequests = 10;

Task<> read_boot_times(const Sources& sources, Providers& providers) {
  for (auto& [name, facts] : providers) {
    if (!facts.config || !launches_machines(facts)) continue;
    facts.boot_times = co_await model::read_boot_record(sources.store, name);
  }
}

// For providers that do not launch machines: these decide by records and configuration alone.
void simulate_without_clouds(const SimulationInput& input, Providers& providers) {
  for (auto& [name, facts] : providers) {
    if (!facts.config || launches_machines(facts)) continue;
    simulate_decisions(input, std::make_shared<const driver::Offer>(facts.config->offer()), {},
                       facts);
  }
}

// `waiting` gets the requests that wait for the subject, if it is a label.
std::optional<Explanation> explanation_of(const ExplanationFacts& knowledge,
                                          const std::string& subject,
                                          std::vector<std::string>& waiting) {
  if (const model::NodeRequest* request = knowledge.requests.find(subject)) {
    return explain_request(knowledge, *request);
  }
  if (const model::Node* node = knowledge.nodes.find(subject)) {
    return explain_node(knowledge, *node);
  }
  if (knows_lease(knowledge, subject)) return explain_lease(knowledge, subject);
  if (knowledge.config.labels.contains(subject)) {
    return explain_label(knowledge, subject, waiting);
  }
  if (knows_host(knowledge, subject)) return explain_host(knowledge, subject);
  return explain_ended(knowledge, subject);
}

}  // namespace

Providers configured_providers(const config::Config& config,
                               const driver::DriverRegistry& drivers) {
  Providers providers;
  for (const config::ProviderSection& section : config.providers) {
    ProviderFacts& facts = providers[section.name];
    try {
      facts.config = drivers.driver(section.driver).configure(section, config);
      if (const auto& problem = facts.config->outside_problem())
        facts.failure = to_string(*problem);
    } catch (const config::ConfigError& error) {
      facts.failure = error.what();
    }
  }
  return providers;
}

Task<std::optional<Explanation>> explain(Sources sources, std::string subject,
                                         AskClouds ask_clouds) {
  Providers providers = std::move(sources.providers);
  const model::NodeRequest* request = sources.requests.find(subject);
  const SimulationInput input{sources.now,
                              sources.nodes,
                              sources.requests,
                              sources.components,
                              sources.config.tenant_limits,
                              subject};
  if (request != nullptr) simulate_without_clouds(input, providers);
  if (ask_clouds && sources.nodes.find(subject) == nullptr) {
    std::vector<std::string> labels =
        request == nullptr ? std::vector<std::string>{subject} : request->node_types;
    Task<> asking = ask_clouds(std::move(labels), request == nullptr ? nullptr : &input, providers);
    co_await std::move(asking);
  }
  co_await read_boot_times(sources, providers);
  std::vector<model::HostReport> hosts = co_await model::read_host_reports(sources.store);
  RecordedUsage usage(sources.nodes);
  ExplanationFacts knowledge{.now = sources.now,
                             .nodes = sources.nodes,
                             .images = sources.images,
                             .requests = sources.requests,
                             .components = sources.components,
                             .pools = sources.components.pools(),
                             .config = sources.config,
                             .providers = providers,
                             .hosts = std::move(hosts),
                             .history = sources.history,
                             .waits = sources.waits,
                             .own_host = sources.own_host,
                             .own_pools = sources.own_pools,
                             .decisions = sources.decisions,
                             .subject = subject,
                             .usage = usage,
                             .may_name = sources.may_name};
  // Meanwhile, a free node may have been given to another client.
  if (!is_visible(knowledge.may_name, subject)) co_return std::nullopt;
  knowledge.unresponsive = unresponsive_pools(knowledge);
  std::vector<std::string> waiting;
  std::optional<Explanation> explanation = explanation_of(knowledge, subject, waiting);
  const std::size_t shown = std::min(waiting.size(), kMostRequests);
  for (std::size_t i = 0; i < shown; ++i) {
    // Each takes a while: other tasks run in between, and may change the records.
    co_await boost::asio::post(boost::asio::use_awaitable);
    knowledge.pools = sources.components.pools();
    const model::NodeRequest* present = sources.requests.find(waiting[i]);
    if (present != nullptr) add_waiting_request(*explanation, knowledge, *present);
  }
  if (explanation) explanation->omitted = waiting.size() - shown;
  co_return explanation;
}

}  // namespace nodepool::report
