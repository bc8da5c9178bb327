#include "report/explanation/explainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "report/explanation/hosts.h"
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

void add_decisions(const Sources& sources, Providers& providers) {
  for (const model::Component* pool : sources.components.pools()) {
    const auto decision = sources.decisions.find(pool->id);
    const auto provider = providers.find(pool->provider_name);
    if (decision == sources.decisions.end() || provider == providers.end()) continue;
    provider->second.decisions[pool->id] = decision->second;
  }
}

// The last events of a request or node that no longer exists. Returns nothing if the journal of
// this host has none.
std::optional<Explanation> explain_ended(const ExplanationFacts& knowledge,
                                         const std::string& subject) {
  constexpr std::size_t kMostEvents = 5;
  const std::vector<history::JournalEntry> history = knowledge.history(subject);
  if (history.empty()) return std::nullopt;
  const bool is_node = history.front().subject == history::JournalEntry::Subject::node;
  Explanation explanation;
  Statements& events =
      say(explanation.statements, "ended",
          fmt::format("{} {} no longer exists. Its last events:", is_node ? "Node" : "Request",
                      subject))
          .details;
  for (std::size_t i = history.size() - std::min(history.size(), kMostEvents); i < history.size();
       ++i) {
    const history::JournalEntry& entry = history[i];
    say_of(events, "event", entry.event,
           fmt::format("{} ago{}{}", duration_text(knowledge.now - entry.time),
                       entry.details.empty() ? "" : ": ", entry.details));
  }
  return explanation;
}

// `waiting` gets the requests that belong to the explanation.
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
      auto configured = drivers.driver(section.driver).configure(section, config);
      configured->require_files();
      facts.config = std::move(configured);
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
  add_decisions(sources, providers);
  if (ask_clouds && sources.nodes.find(subject) == nullptr) {
    std::vector<std::string> labels =
        request == nullptr ? std::vector<std::string>{subject} : request->node_types;
    Task<> asking = ask_clouds(std::move(labels), request == nullptr ? nullptr : &input, providers);
    co_await std::move(asking);
  }
  co_await read_boot_times(sources, providers);
  std::vector<model::HostReport> hosts = co_await model::read_host_reports(sources.store);
  RecordedUsage usage(sources.nodes);
  ExplanationFacts knowledge{
      sources.now,    sources.nodes, sources.images,   sources.requests, sources.components.pools(),
      sources.config, providers,     std::move(hosts), sources.history,  sources.waits,
      usage};
  knowledge.unresponsive = unresponsive_pools(knowledge);
  std::vector<std::string> waiting;
  std::optional<Explanation> explanation = explanation_of(knowledge, subject, waiting);
  const std::size_t shown = std::min(waiting.size(), kMostRequests);
  for (std::size_t i = 0; i < shown; ++i) {
    // Each takes a while: other tasks run in between, and may change the records.
    co_await boost::asio::post(boost::asio::use_awaitable);
    knowledge.pools = sources.components.pools();
    const model::NodeRequest* present = sources.requests.find(waiting[i]);
    if (present != nullptr) explanation->others.push_back(explain_request(knowledge, *present));
  }
  if (explanation) explanation->omitted = waiting.size() - shown;
  co_return explanation;
}

}  // namespace nodepool::report
