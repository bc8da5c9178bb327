#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/node_request.h"
#include "planning/decision.h"

namespace nodepool::planning {

// The requests that a pool evaluates next, and the causes that the others wait for. Waiting
// requests are indexed by their causes, so that an event wakes only those that it concerns.
//
// Requests with the same shape get the same decision: if capacity does not suffice for the first,
// it does not suffice for the others. So an event wakes only the first request of each shape.
class RequestQueue {
 public:
  using ServiceKey = model::NodeRequest::ServiceKey;

  // The members of a request that the rules depend on.
  struct Shape {
    std::vector<std::string> labels;       // sorted
    std::vector<std::string> declined_by;  // sorted
    std::string tenant;
    std::string provider;  // the preferred one
    bool reuse = true;
    bool for_min_ready = false;

    explicit Shape(const model::NodeRequest& request);
    auto operator<=>(const Shape&) const = default;
  };

  // Now, on both scales.
  struct Moment {
    double wall = 0;    // seconds since the epoch; may jump when the machine's time is set
    double steady = 0;  // seconds on a scale that never jumps
  };

  // In seconds: how long a request waits for capacity until it is starved. Later requests that need
  // less may not overtake it any more: large ones would never be served otherwise.
  static constexpr double kStarvationThreshold = 60;

  // Schedules the request for evaluation.
  void enqueue(const ServiceKey& key);

  // Removes a request that was deleted or served, and wakes the requests that waited behind it.
  void remove(const ServiceKey& key);

  // Returns the next request to evaluate, in order of service, and removes it from its group. The
  // caller reports the result with wait() or remove().
  std::optional<ServiceKey> next();

  // Whether next() returns a request.
  bool has_next() const { return !to_evaluate_.empty() || !awake_.empty(); }

  // The request waits for the cause in the decision.
  void wait(const ServiceKey& key, const model::NodeRequest& request, const Decision& decision,
            Moment now);

  // How long the request has waited, in seconds: its age when it first waited here, at least 0, and
  // the time since. 0 if it does not wait. `now` is on the steady scale.
  double waited(const ServiceKey& key, double now) const;

  // Events: wake the requests that wait for them.
  void registry_has_changed();
  void launch_has_ended();
  void refusal_has_ended();
  void label_is_free(std::string_view label);
  void provider_has_answered();
  void capacity_has_grown();
  void tenant_takes_less(std::string_view tenant);
  // Wakes all requests that wait because a limit of a pool, provider or tenant is reached.
  void limits_may_allow_more();

  // Wakes the requests that waited behind this one, which may wait in another queue.
  void allow_passing(const ServiceKey& key);

  // Whether a request waits for capacity, or for a label that the provider refuses to launch.
  bool is_short_of_capacity() const {
    return !waiting_by_age_.empty() || !starved_.empty() || refused_ > 0;
  }

  // It is `now` on the steady scale.
  void advance_to(double now);

  // The first starved request before `key`, as of the last advance_to(). With `labels`, considers
  // only requests for one of them.
  std::optional<ServiceKey> first_starved(const ServiceKey& key,
                                          const std::set<std::string, std::less<>>* labels) const;

 private:
  // What a request waits for. `subject`: the tenant or request that it depends on, if any.
  struct Cause {
    Decision::Until until = Decision::Until::nothing;
    std::string subject;

    auto operator<=>(const Cause&) const = default;
  };

  // The waiting requests of one shape; never empty.
  struct Group {
    std::set<ServiceKey> keys;
    std::map<Cause, std::size_t> causes;  // with the number of requests
    std::optional<ServiceKey> awake;      // its key in awake_, if it is to be evaluated
  };
  using Groups = std::map<Shape, Group>;
  using Entry = Groups::value_type;

  struct Waiting {
    Groups::iterator group;
    Cause cause;
    double since;  // see waiting_since_
  };

  void take_out(const ServiceKey& key);
  void leave_group(const ServiceKey& key);
  void release_capacity_turn(const ServiceKey& key, bool still_waits);
  void wake(Entry& entry);
  void wake_all(std::set<Entry*>* entries);
  void sleep(Entry& entry);
  void update_awake_key(Entry& entry);
  void index(Entry& entry);
  void unindex(Entry& entry);
  void join_capacity_queue(const ServiceKey& key, const Waiting& waiting);
  void leave_capacity_queue(const ServiceKey& key, const Waiting& waiting);

  std::set<ServiceKey> to_evaluate_;
  Groups groups_;
  std::map<ServiceKey, Waiting> waiting_;
  // The creation of each request that has waited, on the steady scale as of its first wait.
  std::map<ServiceKey, double> waiting_since_;
  std::map<ServiceKey, Entry*> awake_;  // by the first request of the group
  // The groups that are not awake, by what wakes them.
  std::map<Cause, std::set<Entry*>> by_cause_;
  std::map<std::string, std::set<Entry*>, std::less<>> by_label_;
  // The requests that wait for capacity: by creation time, and those that are starved.
  std::set<std::pair<double, ServiceKey>> waiting_by_age_;
  std::set<ServiceKey> starved_;
  std::map<std::string, std::set<ServiceKey>, std::less<>> starved_by_label_;
  std::size_t refused_ = 0;  // the requests that wait until a refusal ends
  // The request that next() returned last, if it waited for capacity: others may wait behind it.
  std::optional<ServiceKey> last_capacity_waiter_;
};

}  // namespace nodepool::planning
