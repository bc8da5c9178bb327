#include "cli/store_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "cli/own_provider.h"
#include "config/wording.h"
#include "program/journal.h"
#include "report/explanation/explainer.h"

namespace nodepool::cli {

namespace {

using report::ProviderFacts;
using report::Providers;
using report::SimulationInput;

std::int64_t launches_under_way(const model::NodeTable& nodes, const std::string& provider) {
  return std::ranges::count_if(nodes.of_provider(provider), [&nodes](const std::string& id) {
    return nodes.find(id)->state == model::NodeState::building && nodes.is_locked(id);
  });
}

Task<> ask_cloud(driver::Provider& provider, const SimulationInput* input, ProviderFacts& facts) {
  if (provider.launching() == nullptr) co_return;
  facts.available = co_await provider.available();
  facts.offer = provider.offer();
  if (input == nullptr) co_return;
  const planning::QuotaFacts quota{
      .available = facts.available,
      .launches_under_way = launches_under_way(input->nodes, provider.config().name())};
  simulate_decisions(*input, facts.offer, quota, facts);
}

// Queries the providers that have one of the labels.
Task<> ask_clouds(Session& session, std::vector<std::string> labels, const SimulationInput* input,
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
      return ask_cloud(provider, input, facts);
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

// The history of this host. Where it cannot be read, as by users who are not in the launcher's
// group, explanations have to do without it.
class OwnHistory {
 public:
  explicit OwnHistory(const Session& session)
      : journal_(program::journal_of(session.config())), now_(session.now()) {}

  history::SubjectHistory of(const std::string& id) {
    return read([&] { return history::history_of(journal_, id, now_); });
  }
  // Nothing also if it has no entries.
  std::optional<double> last_time() {
    return read([&] { return history::last_time(journal_); });
  }
  history::Waits waits() {
    return read([&] { return history::recent_waits(journal_); });
  }
  // Why it could not be read; empty: it could.
  const std::string& problem() const { return problem_; }

 private:
  template <typename Read>
  auto read(const Read& from_journal) -> decltype(from_journal()) {
    try {
      return from_journal();
    } catch (const std::system_error& error) {
      problem_ = error.what();
      return {};
    }
  }

  history::Journal journal_;
  double now_;
  std::string problem_;
};

std::runtime_error unknown_subject(const Session& session, const std::string& subject,
                                   const OwnHistory& history) {
  std::string hint = config::did_you_mean(subject, config::keys_of(session.config().labels));
  if (hint.empty()) {
    hint = history.problem().empty()
               ? "the history of this host has no entry of it either"
               : "the history of this host cannot be read: " + history.problem();
  }
  return std::runtime_error(
      fmt::format("there is no request, node, lease, label or host {}; {}", subject, hint));
}

}  // namespace

Task<report::Explanation> explain_by_store(Session& session, std::string subject, bool online) {
  model::NodeTable* nodes = co_await session.nodes();
  model::ImageTable* images = co_await session.images();
  const model::RequestTable* requests = co_await session.requests();
  const model::ComponentTable* components = co_await session.components();
  OwnHistory history(session);
  report::Sources sources{
      .now = session.now(),
      .store = session.store(),
      .nodes = *nodes,
      .images = *images,
      .requests = *requests,
      .components = *components,
      .config = session.config(),
      .providers = report::configured_providers(session.config(), session.context().drivers),
      .history = [&history](const std::string& id) { return history.of(id); },
      .waits = history.waits()};
  if (const std::optional<double> last_entry = history.last_time()) {
    sources.own_host =
        report::OwnHost{.name = session.context().hostname, .last_entry = *last_entry};
  }
  report::AskClouds ask;
  if (online) {
    ask = [&session](std::vector<std::string> labels, const SimulationInput* input,
                     Providers& providers) {
      return ask_clouds(session, std::move(labels), input, providers);
    };
  }
  Task<std::optional<report::Explanation>> explaining =
      report::explain(std::move(sources), subject, std::move(ask));
  std::optional<report::Explanation> explanation = co_await std::move(explaining);
  if (!explanation) throw unknown_subject(session, subject, history);
  co_return std::move(*explanation);
}

}  // namespace nodepool::cli
