#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "cli/each.h"
#include "cli/lease_text.h"
#include "cli/show.h"
#include "report/lease_listing.h"
#include "requestor/error.h"

namespace nodepool::cli {

namespace {

Task<report::Table> lease_table(Installation& installation) {
  report::Table table = report::lease_columns();
  const std::vector<requestor::LeasedNodes> leases = co_await installation.leases();
  for (const requestor::LeasedNodes& leased : leases) {
    report::add_lease(table, leased.lease, leased.nodes);
  }
  co_return table;
}

Task<int> renew(Context& context, Installation& installation, std::string id,
                std::optional<std::chrono::seconds> duration) {
  const Installation::Renewal renewal = co_await installation.renew(std::move(id), duration);
  print_renewal(context, renewal.lease, renewal.before);
  co_return 0;
}

// Returns false if there is no such lease request.
Task<bool> try_withdraw(Context& context, Installation& installation, std::string id) {
  if (!co_await installation.withdraw(id)) co_return false;
  context.out << fmt::format("Withdrew {}\n", id);
  co_return true;
}

Task<int> withdraw(Context& context, Installation& installation, std::string id) {
  co_await try_withdraw(context, installation, std::move(id));
  co_return 0;
}

// Releases or holds a lease or a node of it. If there is none, ends the hold of the node, or
// withdraws the request.
Task<int> release(Context& context, Installation& installation, std::string id,
                  std::optional<std::string> hold_reason) {
  std::vector<std::string> released;
  std::string failure;
  try {
    released = co_await installation.release(id, hold_reason);
  } catch (const requestor::NoSuchLease& error) {
    if (hold_reason) throw;
    failure = error.what();
  }
  if (!failure.empty()) {
    if (co_await installation.end_hold(id)) {
      released.push_back(id);
    } else {
      if (co_await try_withdraw(context, installation, id)) co_return 0;
      throw requestor::NoSuchLease(failure);
    }
  }
  context.out << fmt::format("{} {}\n", hold_reason ? "Held" : "Released",
                             fmt::join(released, ", "));
  co_return 0;
}

// Withdraws the lease requests of all users, or this user's.
Task<int> withdraw_requests(Context& context, Installation& installation, bool is_of_all) {
  std::vector<std::string> ids;
  const std::vector<Installation::LeaseRequest> requests = co_await installation.lease_requests();
  for (const Installation::LeaseRequest& request : requests) {
    if (is_of_all || request.holder == context.holder()) ids.push_back(request.id);
  }
  const Act act = [&context, &installation](std::string id) {
    return withdraw(context, installation, std::move(id));
  };
  co_return co_await for_each(context, std::move(ids), act);
}

// The ids of the leases and nodes to release.
Task<std::vector<std::string>> ids_of(Context& context, Installation& installation,
                                      ReleaseNodes command) {
  std::vector<std::string> ids = std::move(command.ids);
  if (!command.all && !command.mine) co_return ids;
  const std::vector<requestor::LeasedNodes> leases = co_await installation.leases();
  for (const requestor::LeasedNodes& leased : leases) {
    if (command.all || leased.lease.holder == context.holder()) ids.push_back(leased.lease.id);
  }
  if (ids.empty()) context.out << "There are no leases to release\n";
  co_return ids;
}

}  // namespace

Task<int> perform(Context& context, Installation& installation, ListLeases command) {
  const Source source = [&installation] { return lease_table(installation); };
  return show(context, installation, std::move(command.listing), report::Detail::brief, source);
}

Task<int> perform(Context& context, Installation& installation, ReleaseNodes command) {
  int status = 0;
  // Before the leases are listed: until it is withdrawn, a lease request may become one.
  if (command.ids.empty() && !command.hold_reason) {
    status = co_await withdraw_requests(context, installation, command.all);
  }
  const std::vector<std::string> ids = co_await ids_of(context, installation, command);
  const Act act = [&context, &installation, &command](std::string id) {
    return release(context, installation, std::move(id), command.hold_reason);
  };
  const int released = co_await for_each(context, ids, act);
  co_return std::max(status, released);
}

Task<int> perform(Context& context, Installation& installation, RenewLeases command) {
  const Act act = [&context, &installation, duration = command.duration](std::string id) {
    return renew(context, installation, std::move(id), duration);
  };
  return for_each(context, std::move(command.leases), act);
}

}  // namespace nodepool::cli
