#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "history/entry.h"
#include "http/client.h"
#include "report/explanation/statement.h"
#include "report/table.h"
#include "requestor/lease.h"
#include "requestor/request.h"
#include "telemetry/log.h"

// A client of the request API of an installation's launchers (docs/api.md). Needs neither the store
// nor the configuration.
namespace nodepool::remote {

using async::Task;

struct ApiAddress {
  // "https://launcher1:8006,https://launcher2:8006", "http://127.0.0.1:8005", or
  // "unix:///run/nodepool/api.socket". If one of several is unreachable, the next one is used.
  std::string url;
  std::string token = {};    // empty: none
  std::string ca_file = {};  // PEM, the only trusted certificates; empty: the system's
};

// A client of the API. Its calls are idempotent, so they are retried. All functions throw
// requestor::RequestError with the API's message if the API refuses the call, or if no launcher
// responds, and Cancelled.
class RemoteInstallation {
 public:
  // Throws RequestError if the URL is invalid.
  RemoteInstallation(const async::Runtime& runtime, const ApiAddress& address,
                     const telemetry::Logger& log);

  struct LeaseRequest {
    std::vector<std::string> labels;
    std::optional<std::chrono::seconds> lease = {};  // nothing: the API's default
    std::chrono::seconds timeout = std::chrono::minutes(10);
    std::string holder = {};  // for people
    std::string key = {};     // idempotency key; empty: a random one
  };

  // The state of a lease request.
  struct Progress {
    std::string id;
    model::RequestState state = model::RequestState::requested;
    std::optional<std::size_t> position = {};                        // in the queue
    std::vector<std::pair<std::string, std::string>> declined = {};  // pools, and their reasons
  };

  // The result: `leased` has the nodes in the order of the labels; nothing if the request has
  // failed or timed out, as `progress` says.
  struct Outcome {
    Progress progress;
    std::optional<requestor::LeasedNodes> leased = {};
  };

  // Returns when all cancelled requests have been withdrawn. Call it before the destructor.
  Task<> finish() { return withdrawals_.join(); }

  // Requests nodes and waits for them until the request's timeout. A request that is not fulfilled
  // by then, or whose wait is cancelled, is withdrawn. Throws RequestError also if it is removed
  // before its timeout.
  Task<Outcome> request(LeaseRequest lease_request,
                        std::function<void(const Progress&)> on_progress);

  // Returns the lease with its new end.
  Task<model::Lease> renew(std::string lease, std::optional<std::chrono::seconds> duration);

  // Releases a lease, or one of its nodes.
  Task<> release(std::string lease, std::optional<std::string> node = std::nullopt);

  // Holds the nodes of a lease, or one of them, for inspection.
  Task<> hold(std::string lease, std::string reason,
              std::optional<std::string> node = std::nullopt);

  // The lease with this id, or the lease of the node with this id, with the connection data of its
  // nodes.
  Task<requestor::LeasedNodes> find_lease(std::string id);

  // All leases. The nodes of other clients' leases have only id, provider and labels.
  Task<std::vector<requestor::LeasedNodes>> leases();

  // A listing: "nodes", "labels", "requests".
  Task<report::Table> list(std::string listing, std::vector<report::Column> columns);

  // The history of a request or node, from one launcher.
  Task<std::vector<history::JournalEntry>> history(std::string id);

  Task<report::Explanation> explain(std::string subject);

 private:
  struct Reply;

  Task<std::vector<std::string>> pages(std::string listing);
  Task<Reply> call(std::string method, std::string path, std::string body, std::string key);
  Task<Outcome> follow(Reply reply, async::Clock::TimePoint deadline,
                       std::function<void(const Progress&)> on_progress);
  Task<Reply> submit(std::string lease_request, std::string key);
  Task<Outcome> submit_and_follow(std::string lease_request, std::string key,
                                  async::Clock::TimePoint deadline,
                                  std::function<void(const Progress&)> on_progress);
  Task<> find_and_withdraw(std::string lease_request, std::string key);
  Task<> withdraw(std::string id);

  async::Runtime runtime_;
  std::vector<std::string> bases_;  // "https://launcher1:8006"
  std::size_t current_ = 0;         // index in bases_ of the launcher that responded last
  std::string token_;
  http::Client client_;
  async::TaskScope withdrawals_;  // a cancelled task cannot wait for them itself
};

}  // namespace nodepool::remote
