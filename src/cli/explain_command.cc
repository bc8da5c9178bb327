#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "async/thread_pool.h"
#include "cli/commands.h"
#include "cli/foresight.h"
#include "cli/own_provider.h"
#include "cli/rendering/explanation_text.h"
#include "program/journal.h"
#include "report/explanation/explanation.h"
#include "report/explanation/hosts.h"

namespace nodepool::cli {

namespace {

using report::Knowledge;
using report::ProviderFacts;
using report::Providers;

// The providers as this host's configuration has them.
Providers configured_providers(Session& session) {
  Providers providers;
  for (const config::ProviderSection& section : session.config().providers) {
    ProviderFacts& facts = providers[section.name];
    try {
      facts.config =
          session.context().drivers.driver(section.driver).configure(section, session.config());
    } catch (const config::ConfigError& error) {
      facts.failure = error.what();
    }
  }
  return providers;
}

// How long their machines take to come up.
Task<> read_boot_times(Session& session, Providers& providers) {
  for (auto& [name, facts] : providers) {
    if (!facts.config || !report::makes_machines(facts)) continue;
    facts.boot_times = co_await model::read_boot_record(session.store(), name);
  }
}

// Providers that only hand out decide by what is in the records and the configuration.
void foresee_hand_outs(Session& session, const driver::ProviderContext& context,
                       const Foresight& foresight, Providers& providers) {
  for (const config::ProviderSection& section : session.config().providers) {
    ProviderFacts& facts = providers.at(section.name);
    if (!facts.config || report::makes_machines(facts)) continue;
    const auto provider =
        session.context().drivers.driver(section.driver).provider(facts.config, context);
    foresee(foresight, *provider, {}, facts);
  }
}

std::int64_t launches_under_way(const model::NodeTable& nodes, const std::string& provider) {
  return std::ranges::count_if(nodes.of_provider(provider), [&nodes](const std::string& id) {
    return nodes.find(id)->state == model::NodeState::building && nodes.is_locked(id);
  });
}

Task<> ask_cloud(driver::Provider& provider, std::vector<std::string> labels,
                 const Foresight* foresight, ProviderFacts& facts) {
  if (!provider.launches()) co_return;
  facts.available = co_await provider.available();
  for (const auto& [name, pool] : provider.config().pools()) {
    for (const std::string& label : labels) {
      if (!pool.labels.contains(label)) continue;
      facts.needs[{name, label}] = provider.need(name, label);
      if (const auto problem = provider.label_problem(name, label)) {
        facts.problems[{name, label}] = *problem;
      }
    }
  }
  if (foresight == nullptr) co_return;
  const planning::QuotaFacts quota{
      .available = facts.available,
      .launches_under_way = launches_under_way(foresight->nodes, provider.config().name())};
  foresee(*foresight, provider, quota, facts);
}

// Those that have one of the labels.
Task<> ask_clouds(Session& session, std::vector<std::string> labels, const Foresight* foresight,
                  Providers& providers) {
  for (const config::ProviderSection& section : session.config().providers) {
    ProviderFacts& facts = providers.at(section.name);
    const bool is_concerned =
        facts.config && std::ranges::any_of(facts.config->pools(), [&labels](const auto& pool) {
          return std::ranges::any_of(labels, [&pool](const std::string& label) {
            return pool.second.labels.contains(label);
          });
        });
    if (!is_concerned) continue;
    const std::function<Task<>(driver::Provider&)> ask = [&](driver::Provider& provider) {
      return ask_cloud(provider, labels, foresight, facts);
    };
    try {
      Task<> asking = with_own_provider(session, section, ask);
      co_await std::move(asking);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      facts.failure = error.what();
    }
  }
}

}  // namespace

Task<int> perform(Session& session, Explain command) {
  model::NodeTable* nodes = co_await session.nodes();
  model::ImageTable* images = co_await session.images();
  const model::RequestTable* requests = co_await session.requests();
  const model::ComponentTable* components = co_await session.components();
  const std::string& subject = command.subject;
  Providers providers = configured_providers(session);
  const model::NodeRequest* request = requests->find(subject);
  const Foresight foresight{
      session.now(), *nodes, *requests, *components, session.config().tenant_limits, subject};
  if (request != nullptr) {
    async::ThreadPool threads(1, "blocking calls");
    foresee_hand_outs(session,
                      {.runtime = session.runtime(),
                       .store = session.store(),
                       .nodes = *nodes,
                       .images = *images,
                       .threads = threads,
                       .log = session.logger("nodepool.explain")},
                      foresight, providers);
  }
  if (command.online && nodes->find(subject) == nullptr) {
    std::vector<std::string> labels =
        request == nullptr ? std::vector<std::string>{subject} : request->node_types;
    const Foresight* about = request == nullptr ? nullptr : &foresight;
    co_await ask_clouds(session, std::move(labels), about, providers);
  }
  co_await read_boot_times(session, providers);
  std::vector<model::HostReport> hosts = co_await model::read_host_reports(session.store());
  const history::Journal journal = program::journal_of(session.config());
  const Knowledge knowledge{
      session.now(),
      *nodes,
      *images,
      *requests,
      components->pools(),
      session.config(),
      providers,
      std::move(hosts),
      [&journal](const std::string& id) { return history::entries_of(journal, id); }};
  report::Explanation explanation;
  if (request != nullptr) {
    explanation = report::explain_request(knowledge, *request);
  } else if (const model::Node* node = nodes->find(subject)) {
    explanation = report::explain_node(knowledge, *node);
  } else if (session.config().labels.contains(subject)) {
    explanation = report::explain_label(knowledge, subject);
  } else if (report::knows_host(knowledge, subject)) {
    explanation = report::explain_host(knowledge, subject);
  } else {
    throw std::runtime_error(
        fmt::format("there is no request, node, label or host {}; `nodepool history {}` tells of "
                    "what is gone",
                    subject, subject));
  }
  session.context().out << explanation_text(explanation);
  co_return 0;
}

}  // namespace nodepool::cli
