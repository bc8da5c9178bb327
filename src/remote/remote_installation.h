#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/backoff.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "installation/installation.h"
#include "remote/api_client.h"
#include "telemetry/log.h"

namespace nodepool::remote {

using installation::Installation;

// An installation, by the request API of its launchers (docs/api.md). Needs neither the store nor
// the configuration. All functions throw as ApiClient does.
class RemoteInstallation final : public Installation {
 public:
  using Warn = std::function<void(const std::string& text)>;

  // `warn` gets what the user should know of waits, of nodes in use, and of cancelled requests.
  // Throws RequestError if the URL is invalid.
  RemoteInstallation(const async::Runtime& runtime, const ApiAddress& address,
                     const telemetry::Logger& log, Warn warn);

  // Returns when all cancelled requests have been withdrawn, or could not be.
  Task<> close() override;

  // A cancelled request with a key of the user is not withdrawn after it has been fulfilled: other
  // processes with the key may use its lease.
  Task<Outcome> request(Request request, Observer observer) override;
  // While no launcher is available, retries: a release for a minute, a hold until the lease ends.
  Task<std::vector<std::string>> end_use(std::optional<std::string> hold_reason) override;
  Task<Renewal> renew(std::string lease, std::optional<std::chrono::seconds> duration) override;
  Task<std::vector<std::string>> release(std::string id,
                                         std::optional<std::string> hold_reason) override;
  Task<bool> end_hold(std::string id) override;
  Task<std::vector<LeaseRequest>> lease_requests() override;
  // Releases the request's lease if it has become one meanwhile.
  Task<bool> withdraw(std::string id) override;
  // The nodes of other clients' leases have only id, provider and labels.
  Task<std::vector<requestor::LeasedNodes>> leases() override;
  // Finds only leased nodes, and nodes whose hold this client may end.
  Task<std::vector<model::Node>> find_nodes(std::string id) override;
  Task<report::Table> nodes() override;
  Task<report::Table> requests() override;
  Task<report::Table> labels() override;
  // The API does not have them.
  Task<std::vector<model::HostReport>> host_reports() override;
  // Throws if `online` is set: the API does not query clouds.
  Task<report::Explanation> explain(std::string subject, bool online) override;
  // From one launcher.
  Task<std::vector<history::JournalEntry>> history(std::string id) override;
  // Throws: the API has no watch.
  Task<std::vector<coordination::Subscription>> watch(std::function<void()> observer) override;

 private:
  // A request as it is submitted.
  struct Submission {
    std::string body;
    std::string key;  // the idempotency key
    bool has_user_key = false;
  };

  Task<report::Table> list(std::string listing, std::vector<report::Column> columns);
  Task<Outcome> follow(ApiReply reply, async::Clock::TimePoint deadline, Observer observer);
  Task<ApiReply> submit(Submission submission);
  template <typename Result>
  Task<Result> retry_while_unavailable(std::function<Task<Result>()> call,
                                       async::Clock::TimePoint limit,
                                       async::Clock::TimePoint first_contact);
  Task<> pause_for_launcher(std::string failure, async::Backoff& backoff,
                            async::Clock::TimePoint limit);
  Task<Outcome> submit_and_follow(Submission submission, async::Clock::TimePoint deadline,
                                  Observer observer);
  Task<> find_and_withdraw(Submission submission, Warn report);
  Task<> withdraw_if_present(std::string id);
  Task<requestor::LeasedNodes> find_lease(std::string id);
  Task<model::Lease> extend(std::string lease, std::optional<std::chrono::seconds> duration);
  Task<std::vector<std::string>> release_from(std::string lease, std::vector<std::string> nodes,
                                              bool is_whole,
                                              std::optional<std::string> hold_reason);
  Task<std::vector<std::string>> held_from(std::string lease, std::vector<std::string> nodes);
  Task<> keep_lease(model::Lease lease, std::function<void(const std::string& reason)> on_lost);

  async::Runtime runtime_;
  ApiClient api_;
  Warn warn_;
  bool is_wait_reported_ = false;  // for a launcher
  std::string lease_in_use_;       // of the nodes that this process uses; empty: none
  std::vector<std::string> nodes_in_use_;
  async::Clock::TimePoint lease_end_;  // of lease_in_use_, at the latest
  async::TaskScope withdrawals_;       // a cancelled task cannot wait for them itself
  async::TaskScope renewals_;          // of lease_in_use_
};

}  // namespace nodepool::remote
