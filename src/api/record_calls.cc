#include "api/record_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "api/documents.h"
#include "model/component.h"
#include "report/history_listing.h"
#include "report/launch_text.h"
#include "report/listings.h"
#include "report/rendering/explanation_text.h"
#include "report/rendering/table_text.h"

namespace nodepool::api {

using async::Task;
using model::Node;

namespace {

constexpr std::size_t kUsualNodes = 100;
constexpr std::size_t kMostNodes = 1000;
// A thread reads the history for one call after the other, some megabytes for each. This limits the
// work and the waiting time that clients without a token can cause.
constexpr std::size_t kMaxAnonymousReadings = 16;

// Counts a call that reads the history, if its client has no token.
class HistoryReading {
 public:
  // Throws CallError (503) above the limit.
  explicit HistoryReading(const Call& call)
      : count_(call.client.name.empty() ? &call.context.anonymous_readings : nullptr) {
    if (count_ == nullptr) return;
    if (*count_ == kMaxAnonymousReadings) {
      throw CallError(503, "Too many calls without a token read the history; retry",
                      {{"Retry-After", "1"}});
    }
    ++*count_;
  }
  ~HistoryReading() {
    if (count_ != nullptr) --*count_;
  }
  HistoryReading(const HistoryReading&) = delete;
  HistoryReading& operator=(const HistoryReading&) = delete;

 private:
  std::size_t* count_;  // null: not counted
};

// The conditions on the nodes of a list.
struct NodeFilter {
  const std::string* label;
  const std::string* state;
  const std::string* provider;

  // The same as parameters of the next page's URL.
  std::string parameters() const {
    std::string text;
    if (label != nullptr) text += "&label=" + web::escaped(*label);
    if (state != nullptr) text += "&state=" + web::escaped(*state);
    if (provider != nullptr) text += "&provider=" + web::escaped(*provider);
    return text;
  }

  bool admits(const Node& node) const {
    if (label != nullptr && !node.has_label(*label)) return false;
    if (state != nullptr && to_string(node.state) != *state) return false;
    return provider == nullptr || node.provider.value_or("") == *provider;
  }
};

// Throws CallError if the state is unknown: the list would be empty.
void require_state(const std::string* state) {
  if (state == nullptr || model::parse_node_state(*state)) return;
  std::vector<std::string_view> known;
  for (const model::NodeState each : model::kAllNodeStates) known.push_back(to_string(each));
  throw CallError(422, fmt::format("`state` must be one of {}", fmt::join(known, ", ")));
}

// The columns of nodes that every reader gets: no login data.
report::Table public_columns(const report::Table& nodes) {
  std::set<std::string, std::less<>> keys = {"age_seconds"};
  const report::Table columns = report::node_columns(report::Detail::full);
  for (const report::Column& column : columns.columns()) keys.insert(column.key);
  return nodes.only(keys);
}

}  // namespace

Task<web::Response> list_nodes(Call& call) {
  const std::size_t most = call.number("limit", kUsualNodes, kMostNodes);
  const std::string* after = call.request.parameter("after");
  const NodeFilter filter{call.request.parameter("label"), call.request.parameter("state"),
                          call.request.parameter("provider")};
  require_state(filter.state);
  const model::NodeTable& nodes = call.context.records.nodes;
  report::Table table = report::node_columns(report::Detail::wide);
  const double now = call.context.runtime.clock.wall_seconds();
  std::string last;
  bool is_more = false;
  std::size_t read = 0;
  const auto& all = nodes.all();
  for (auto at = after == nullptr ? all.begin() : all.upper_bound(*after); at != all.end(); ++at) {
    const auto& [id, node] = *at;
    ++read;
    if (!filter.admits(node) || !call.view.has(node)) continue;
    if (table.rows().size() == most) {
      is_more = true;
      break;
    }
    report::add_node(table, node, nodes.is_locked(id), now, report::Detail::wide);
    last = id;
  }
  call.context.authorizer.charge_list(call.client, call.request, read, table.rows().size());
  const std::string next = is_more ? fmt::format(R"(, "next": "/api/v1/nodes?limit={}&after={}{}")",
                                                 most, last, filter.parameters())
                                   : std::string();
  const std::string rows = report::table_json(public_columns(table));
  co_return json_response(200, fmt::format("{{\"nodes\": {}{}}}\n", rows, next));
}

Task<web::Response> show_node(Call& call) {
  const model::NodeTable& nodes = call.context.records.nodes;
  const Node* node = call.view.find_node(call.id);
  if (node == nullptr) throw CallError(404, fmt::format("Node {} not found", call.id));
  report::Table table = report::node_columns(report::Detail::wide);
  report::add_node(table, *node, nodes.is_locked(call.id),
                   call.context.runtime.clock.wall_seconds(), report::Detail::wide);
  table = public_columns(table);
  std::string document = report::row_json(table, table.rows().front());
  if (node->state == model::NodeState::hold && call.view.may_change(*node)) {
    document.insert(document.size() - 1, R"(, "login": )" + login_document(*node));
  }
  co_return json_response(200, document + "\n");
}

Task<web::Response> list_labels(Call& call) {
  const report::Table table =
      report::label_listing(call.context.records.components.pools(), call.context.records.nodes);
  call.context.authorizer.charge_list(call.client, call.request,
                                      call.context.records.nodes.all().size(), table.rows().size());
  co_return json_response(200, fmt::format("{{\"labels\": {}}}\n", report::table_json(table)));
}

Task<web::Response> explain_subject(Call& call) {
  // An explanation of a label or a host contains records of all tenants.
  const bool is_own = call.view.find(call.id) != nullptr || call.view.find_node(call.id) != nullptr;
  if (!call.view.is_complete() && !is_own) {
    throw CallError(404, fmt::format("Request or node {} not found", call.id));
  }
  const HistoryReading reading(call);
  report::MayName may_name;
  if (!call.view.is_complete()) {
    may_name = [&call](const std::string& id) {
      // Requests of other clients, such as Zuul, are not in the index of leases.
      const model::NodeRequest* request = call.context.records.requests.find(id);
      return (request != nullptr && call.view.has(*request)) || call.view.find(id) != nullptr ||
             call.view.find_node(id) != nullptr;
    };
  }
  Task<std::optional<report::Explanation>> explaining =
      call.context.explain(call.id, std::move(may_name));
  const std::optional<report::Explanation> explanation = co_await std::move(explaining);
  if (!explanation) {
    throw CallError(404, fmt::format("Request, node, label or host {} not found", call.id));
  }
  co_return json_response(200, report::explanation_json(*explanation) + "\n");
}

Task<web::Response> show_history(Call& call) {
  if (!call.context.journal) throw CallError(404, "This launcher keeps no history");
  if (!call.view.is_complete()) {
    throw CallError(403, "The history contains all tenants; this token may read one tenant only");
  }
  const HistoryReading reading(call);
  const bool shows_consoles =
      call.context.authorizer.may_read(call.client, Authorizer::Subject::console);
  const std::vector<history::JournalEntry> entries = co_await call.context.threads.run(
      "reading the history", [journal = *call.context.journal, id = call.id,
                              now = call.context.runtime.clock.wall_seconds(), shows_consoles] {
        std::vector<history::JournalEntry> read = history::entries_of(journal, id, now);
        if (!shows_consoles) std::ranges::for_each(read, report::hide_console);
        return read;
      });
  if (entries.empty())
    throw CallError(404, fmt::format("The history has no entries of {}", call.id));
  const std::string table = report::table_json(report::history_listing(entries));
  co_return json_response(200, fmt::format("{{\"history\": {}}}\n", table));
}

Task<web::Response> show_client(Call& call) {
  co_return json_response(200, client_document(call.client, call.context.lease_index) + "\n");
}

}  // namespace nodepool::api
