#include "report/status.h"

#include <algorithm>
#include <map>
#include <utility>

#include "report/status_problems.h"
#include "report/values.h"

namespace nodepool::report {

namespace {

using model::Component;
using model::Json;
using model::json_string;
using model::NodeState;

Cell moment(double seconds) {
  return seconds > 0 ? Cell(Time{seconds}) : Cell(Json());
}

Table problem_table(const std::vector<StatusProblem>& problems) {
  constexpr std::size_t kWidest = 100;
  Table table({{"level", "Level"}, {"about", ""}, {"text", "Needs Attention", kWidest}});
  for (const StatusProblem& problem : problems) {
    table.add({json_string(to_string(problem.level)), json_string(problem.about),
               json_string(problem.text)});
  }
  return table;
}

// Launchers and builders.
Table daemon_table(const StatusSources& sources) {
  Table table({{"kind", "Daemon"},
               {"hostname", "Host"},
               {"version", "Version"},
               {"state", "State"},
               {"started", "Since"},
               {"configuration_loaded", "Configuration Loaded"},
               {"configuration_rejected", "Newer One Rejected"},
               {"configuration_problem", ""},
               {"problems", ""}});
  for (const auto& [id, component] : sources.components.all()) {
    if (component.kind == Component::Kind::pool) continue;
    const bool reports_config = component.configuration_loaded > 0;
    const std::string& refused = component.configuration_problem;
    table.add({json_string(to_string(component.kind)), json_string(component.hostname),
               json_string(component.version), json_string(component.state),
               moment(component.started), moment(component.configuration_loaded),
               reports_config ? Json{refused.empty() ? "false" : "true"} : Json(),
               refused.empty() ? Json() : json_string(refused), json_of(component.problems)});
  }
  return table;
}

Table store_table(const StatusSources& sources) {
  std::int64_t builds = 0;
  std::int64_t uploads = 0;
  for (const std::string& image : sources.images.images()) {
    builds += std::ssize(sources.images.builds_of(image));
    uploads += std::ssize(sources.images.uploads_of(image));
  }
  Table table({{"kind", "Store"},
               {"place", "Place"},
               {"bytes", "Bytes"},
               {"nodes", "Nodes"},
               {"requests", "Requests"},
               {"builds", "Builds"},
               {"uploads", "Uploads"}});
  const StoreDescription& store = sources.store;
  table.add({json_string(store.kind), json_string(store.place),
             store.size ? json_of(*store.size) : Json(), json_of(std::ssize(sources.nodes.all())),
             json_of(std::ssize(sources.requests.all())), json_of(builds), json_of(uploads)});
  return table;
}

struct ProviderRow {
  std::set<std::string> launchers;
  std::vector<std::string> full;  // pools that are at capacity
  std::map<NodeState, std::int64_t> nodes;

  std::int64_t count(std::initializer_list<NodeState> states) const {
    std::int64_t sum = 0;
    for (const NodeState state : states) {
      if (const auto found = nodes.find(state); found != nodes.end()) sum += found->second;
    }
    return sum;
  }
};

std::map<std::string, ProviderRow> provider_rows(const StatusSources& sources) {
  std::map<std::string, ProviderRow> lines;
  for (const std::string& provider : sources.providers) lines[provider];
  for (const Component* pool : sources.components.pools()) {
    ProviderRow& row = lines[pool->provider_name];
    row.launchers.insert(pool->hostname);
    if (pool->paused) row.full.push_back(pool->name);
  }
  for (const auto& [id, node] : sources.nodes.all()) {
    if (node.provider) ++lines[*node.provider].nodes[node.state];
  }
  return lines;
}

Table provider_table(const StatusSources& sources) {
  Table table({{"provider", "Provider"},
               {"launchers", "Launchers"},
               {"full_pools", "Full Pools"},
               {"ready", "Ready"},
               {"building", "Building"},
               {"in_use", "In Use"},
               {"hold", "Held"},
               {"deleting", "Deleting"},
               {"failed", "Failed"}});
  for (const auto& [provider, row] : provider_rows(sources)) {
    const std::vector<std::string> launchers(row.launchers.begin(), row.launchers.end());
    table.add({json_string(provider), json_of(launchers), json_of(row.full),
               json_of(row.count({NodeState::ready})),
               json_of(row.count({NodeState::init, NodeState::building, NodeState::testing})),
               json_of(row.count({NodeState::in_use})), json_of(row.count({NodeState::hold})),
               json_of(row.count({NodeState::used, NodeState::deleting, NodeState::deleted})),
               json_of(row.count({NodeState::failed, NodeState::aborted}))});
  }
  return table;
}

Table waiting_table(const StatusSources& sources) {
  Table table({{"id", "Request"},
               {"state", "State"},
               {"node_types", "Labels"},
               {"requestor", "Requestor"},
               {"waits", "Waits"}});
  for (const model::NodeRequest* request : overdue(sources)) {
    table.add({json_string(request->id), json_string(to_string(request->state)),
               json_of(request->node_types), json_of(request->requestor),
               Duration{sources.now - request->stat.created()}});
  }
  return table;
}

}  // namespace

std::string_view to_string(StatusLevel level) {
  switch (level) {
    case StatusLevel::fine:
      return "fine";
    case StatusLevel::attention:
      return "attention";
    case StatusLevel::critical:
      return "critical";
  }
  return "";
}

Status status_of(const StatusSources& sources) {
  const std::vector<StatusProblem> problems = status_problems(sources);
  Status status;
  for (const StatusProblem& problem : problems) {
    status.level = std::max(status.level, problem.level);
  }
  status.sections = {{"problems", "Problems", problem_table(problems)},
                     {"daemons", "Daemons", daemon_table(sources)},
                     {"store", "Store", store_table(sources)},
                     {"providers", "Providers", provider_table(sources)},
                     {"waiting", "Requests waiting too long", waiting_table(sources)}};
  return status;
}

}  // namespace nodepool::report
