#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ostream>

#include "cli/commands.h"
#include "cli/each.h"
#include "cli/lease_length.h"
#include "cli/lease_text.h"
#include "cli/show.h"
#include "report/lease_listing.h"
#include "requestor/lease.h"

namespace nodepool::cli {

namespace {

Task<report::Table> lease_table(Session& session, report::Detail detail) {
  const model::NodeTable* nodes = co_await session.nodes();
  report::Table table = report::lease_columns();
  for (const requestor::LeasedNodes& leased : requestor::leases(*nodes)) {
    report::add_lease(table, leased.lease, leased.nodes);
  }
  co_return table.with(detail);
}

Task<int> renew(Session& session, std::string id, async::Duration duration) {
  const model::NodeTable* nodes = co_await session.nodes();
  const double before = requestor::end_of_lease(*nodes, id);
  const model::Lease lease =
      co_await requestor::renew_lease(session.runtime(), session.store(), *nodes, std::move(id),
                                      duration, longest_lease(session.config()));
  print_renewal(session.context(), lease, before);
  co_return 0;
}

Task<int> release(Session& session, std::string id, std::optional<std::string> hold_reason) {
  const model::NodeTable* nodes = co_await session.nodes();
  const bool holds = hold_reason.has_value();
  const std::vector<std::string> released = co_await requestor::release_lease(
      session.runtime(), session.store(), *nodes, std::move(id), std::move(hold_reason));
  session.context().out << fmt::format("{} {}\n", holds ? "Held" : "Released",
                                       fmt::join(released, ", "));
  co_return 0;
}

// The ids of the leases and nodes to release.
Task<std::vector<std::string>> ids_of(Session& session, const ReleaseNodes& command) {
  std::vector<std::string> ids = command.ids;
  if (!command.all && !command.mine) co_return ids;
  const model::NodeTable* nodes = co_await session.nodes();
  const std::string holder = holder_of(session.context());
  for (const requestor::LeasedNodes& leased : requestor::leases(*nodes)) {
    if (command.all || leased.lease.holder == holder) ids.push_back(leased.lease.id);
  }
  if (ids.empty()) session.context().out << "There are no leases to release\n";
  co_return ids;
}

}  // namespace

Task<int> perform(Session& session, ListLeases command) {
  const Source source = [&session](report::Detail detail) { return lease_table(session, detail); };
  return show(session, std::move(command.listing), report::Detail::brief, source);
}

Task<int> perform(Session& session, ReleaseNodes command) {
  const std::vector<std::string> ids = co_await ids_of(session, command);
  const Act act = [&session, &command](std::string id) {
    return release(session, std::move(id), command.hold_reason);
  };
  co_return co_await for_each(session.context(), ids, act);
}

Task<int> perform(Session& session, RenewLeases command) {
  const std::chrono::seconds length = lease_length(session.config(), command.duration);
  const Act act = [&session, length](std::string lease) {
    return renew(session, std::move(lease), length);
  };
  return for_each(session.context(), std::move(command.leases), act);
}

}  // namespace nodepool::cli
