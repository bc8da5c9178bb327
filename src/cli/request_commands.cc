#include <fmt/chrono.h>
#include <fmt/format.h>

#include <csignal>
#include <ctime>
#include <optional>
#include <ostream>

#include "async/signals.h"
#include "cli/commands.h"
#include "cli/node_access.h"
#include "cli/rendering/table_text.h"
#include "cli/waiting.h"
#include "requestor/error.h"
#include "requestor/lease.h"

namespace nodepool::cli {

namespace {

constexpr int kFailed = 2;
constexpr int kTimedOut = 3;

std::string local_time(double seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(seconds)));
}

// {"lease": …, "expires": …, "nodes": [{"id": …, "label": …, the record's own keys}]}
std::string to_json(const requestor::LeasedNodes& leased, const std::vector<std::string>& labels) {
  std::string nodes;
  for (std::size_t i = 0; i < leased.nodes.size(); ++i) {
    if (i > 0) nodes += ", ";
    nodes +=
        fmt::format(R"({{"id": {}, "label": {}, {})", model::json_string(leased.nodes[i].id).text,
                    model::json_string(labels.at(i)).text, to_record(leased.nodes[i]).substr(1));
  }
  return fmt::format(R"({{"lease": {}, "expires": {}, "nodes": [{}]}})",
                     model::json_string(leased.lease.id).text, leased.lease.expires, nodes);
}

std::string to_text(const requestor::LeasedNodes& leased, const std::vector<std::string>& labels) {
  report::Table table({{"label", "Label"},
                       {"id", "ID"},
                       {"host", "Host"},
                       {"port", "Port"},
                       {"username", "Username"},
                       {"connection", "Connection"}});
  std::string logins;
  for (const NodeAccess& node : access_to(leased.nodes, labels)) {
    table.add({model::json_string(node.label), model::json_string(node.id),
               model::json_string(node.host),
               node.port ? model::Json{std::to_string(*node.port)} : model::Json{},
               model::json_string(node.username), model::json_string(node.connection_type)});
    const std::string login = ssh_command(node);
    if (!login.empty()) logins += fmt::format("{}    # {}\n", login, node.name);
  }
  if (!logins.empty()) logins = "\n" + logins;
  const std::string& id = leased.lease.id;
  return fmt::format(
      "{}\n{}\nLease {} until {}\nKeep longer:  nodepool renew {}\nGive back:    nodepool release "
      "{}\n",
      table_text(table), logins, id, local_time(leased.lease.expires), id, id);
}

// What came of a request.
struct Result {
  std::optional<requestor::Answer> answer;
  std::optional<requestor::LeasedNodes> leased;
};

Task<> request_and_lease(Session& session, RequestNodes command, Result& result) {
  result.answer = co_await request_and_wait(session, command.labels, command.timeout);
  if (result.answer->kind != requestor::Answer::Kind::fulfilled) co_return;
  result.leased = co_await requestor::accept_with_lease(session.runtime(), session.store(),
                                                        result.answer->request, command.lease,
                                                        "nodepool:" + session.context().identity);
}

}  // namespace

Task<int> perform(Session& session, RequestNodes command) {
  async::Signals signals(session.runtime().executor, {SIGINT, SIGTERM, SIGHUP});
  Result result;
  Task<> requesting = request_and_lease(session, command, result);
  const std::optional<int> interrupted = co_await signals.until_next(std::move(requesting));
  Context& context = session.context();
  if (result.leased) {
    context.out << (command.json ? to_json(*result.leased, command.labels) + "\n"
                                 : to_text(*result.leased, command.labels));
    co_return 0;
  }
  if (interrupted) {
    context.err << "nodepool: interrupted; the request has been withdrawn\n";
    co_return 128 + *interrupted;
  }
  context.err << "nodepool: " << explain(*result.answer) << '\n';
  co_return result.answer->kind == requestor::Answer::Kind::failed ? kFailed : kTimedOut;
}

Task<int> perform(Session& session, ReleaseNodes command) {
  Context& context = session.context();
  const model::NodeTable* nodes = co_await session.nodes();
  int status = 0;
  for (const std::string& id : command.ids) {
    try {
      const std::vector<std::string> released =
          co_await requestor::release_lease(session.runtime(), session.store(), *nodes, id);
      context.out << fmt::format("Released {}\n", fmt::join(released, ", "));
    } catch (const requestor::RequestError& error) {
      context.err << "nodepool: " << error.what() << '\n';
      status = 1;
    }
  }
  co_return status;
}

Task<int> perform(Session& session, RenewLease command) {
  const model::NodeTable* nodes = co_await session.nodes();
  const model::Lease lease = co_await requestor::renew_lease(
      session.runtime(), session.store(), *nodes, command.lease, command.duration);
  session.context().out << fmt::format("Lease {} until {}\n", lease.id, local_time(lease.expires));
  co_return 0;
}

}  // namespace nodepool::cli
