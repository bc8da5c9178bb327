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

// An installation whose store is out of reach: through the request API of its launchers
// (docs/api.md). Needs neither store nor configuration.
namespace nodepool::remote {

using async::Task;

struct Address {
  // "https://launcher1:8006,https://launcher2:8006", "http://127.0.0.1:8005", or
  // "unix:///run/nodepool/api.socket". Of several, one that cannot be reached is left for the next.
  std::string url;
  std::string token = {};    // empty: none
  std::string ca_file = {};  // PEM, the only ones trusted; empty: the system's
};

// A client of the API. What it does is done once, however often it has to be sent. All functions
// throw requestor::RequestError with the API's own words if it refuses, or if no launcher answers,
// and Cancelled.
class Installation {
 public:
  // Throws RequestError for an address that is none.
  Installation(const async::Runtime& runtime, const Address& address, const telemetry::Logger& log);

  struct LeaseRequest {
    std::vector<std::string> labels;
    std::optional<std::chrono::seconds> lease = {};  // nothing: the API's usual one
    std::chrono::seconds timeout = std::chrono::minutes(10);
    std::string holder = {};  // for people
    std::string key =
        {};  // what is ordered with the same one is ordered once; empty: one of its own
  };

  // How an order stands.
  struct Progress {
    std::string id;
    model::RequestState state = model::RequestState::requested;
    std::optional<std::size_t> position = {};                        // in line
    std::vector<std::pair<std::string, std::string>> declined = {};  // pools, and their reasons
  };

  // What has become of it: `leased` has its nodes in the order of the labels, unless the last
  // progress says that it has failed, or still waits.
  struct Outcome {
    Progress progress;
    std::optional<requestor::LeasedNodes> leased = {};
  };

  // Returns when what has been given up is given up: call it before this goes away.
  Task<> finish() { return giving_up_.join(); }

  // Asks for nodes and waits for them, as long as the order says. A request that is not fulfilled
  // by then, or whose wait is cancelled, is given up. Throws RequestError also if it is
  // removed before its time.
  Task<Outcome> request(LeaseRequest lease_request,
                        std::function<void(const Progress&)> on_progress);

  // Returns when the lease ends now.
  Task<model::Lease> renew(std::string lease, std::optional<std::chrono::seconds> duration);

  // Gives back a lease, or one of its nodes.
  Task<> release(std::string lease, std::optional<std::string> node = std::nullopt);

  // Keeps the nodes of a lease, or one of them, for a person to look at.
  Task<> hold(std::string lease, std::string reason,
              std::optional<std::string> node = std::nullopt);

  // The lease with this id, or the one that has the node with it; with all that is needed to log
  // in.
  Task<requestor::LeasedNodes> find_lease(std::string id);

  // All leases; of those that are not the client's own little is known of the nodes.
  Task<std::vector<requestor::LeasedNodes>> leases();

  // Which listing: "nodes", "labels", "requests".
  Task<report::Table> list(std::string listing, std::vector<report::Column> columns);

  // What a launcher has written down of a request or node.
  Task<std::vector<history::Entry>> history(std::string id);

  Task<report::Explanation> explain(std::string subject);

 private:
  struct Answer;

  Task<std::vector<std::string>> pages(std::string listing);
  Task<Answer> call(std::string method, std::string path, std::string body, std::string key);
  Task<Outcome> follow(Answer answer, async::Clock::TimePoint deadline,
                       std::function<void(const Progress&)> on_progress);
  Task<Answer> submit(std::string lease_request, std::string key);
  Task<Outcome> place_and_follow(std::string lease_request, std::string key,
                                 async::Clock::TimePoint deadline,
                                 std::function<void(const Progress&)> on_progress);
  Task<> reclaim(std::string lease_request, std::string key);
  Task<> give_up(std::string id);

  async::Runtime runtime_;
  std::vector<std::string> bases_;  // "https://launcher1:8006"
  std::size_t current_ = 0;         // of bases_: the one that answered last
  std::string token_;
  http::Client client_;
  async::TaskScope giving_up_;  // a task that has been cancelled cannot wait for it
};

}  // namespace nodepool::remote
