#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_scope.h"
#include "cli/session.h"
#include "installation/installation.h"
#include "requestor/held_nodes.h"

namespace nodepool::cli {

using installation::Installation;

// The installation of the configuration, by its store and the history of this host.
class StoreInstallation final : public Installation {
 public:
  // The session outlives this.
  explicit StoreInstallation(Session& session);

  // The end of the session withdraws a cancelled request at the latest.
  Task<> close() override;

  Task<Outcome> request(Request request, Observer observer) override;
  Task<> stop_following() override { return session_.stop_following(); }
  Task<std::vector<std::string>> end_use(std::optional<std::string> hold_reason) override;
  Task<Renewal> renew(std::string lease, std::optional<std::chrono::seconds> duration) override;
  Task<std::vector<std::string>> release(std::string id,
                                         std::optional<std::string> hold_reason) override;
  // Whether a client or an operator holds the node.
  Task<bool> end_hold(std::string id) override;
  Task<std::vector<LeaseRequest>> lease_requests() override;
  Task<bool> withdraw(std::string id) override;
  Task<std::vector<requestor::LeasedNodes>> leases() override;
  Task<std::vector<model::Node>> find_nodes(std::string id) override;
  Task<report::Table> nodes() override;
  Task<report::Table> requests() override;
  Task<report::Table> labels() override;
  Task<std::vector<model::HostReport>> host_reports() override;
  Task<report::Explanation> explain(std::string subject, bool online) override;
  // Does not need the store.
  Task<std::vector<history::JournalEntry>> history(std::string id) override;
  Task<std::vector<coordination::Subscription>> watch(std::function<void()> observer) override;

 private:
  Task<Outcome> obtain(Request request, Observer observer);
  std::optional<std::chrono::seconds> longest_lease() const;
  std::chrono::seconds lease_length(std::optional<std::chrono::seconds> wanted) const;
  void watch_session(const std::function<void(const std::string& reason)>& on_lost);
  Task<> warn_of_outages();

  Session& session_;
  std::string cancelled_request_;             // its id; empty: none
  std::optional<requestor::HeldNodes> held_;  // the nodes that this process uses
  coordination::Subscription session_watch_;  // while it does
  async::Event session_changed_{"the session's state has changed"};
  async::TaskScope scope_;
};

}  // namespace nodepool::cli
