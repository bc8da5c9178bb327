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

// Which requests a pool has to look at next, and what the others wait for. What waits is indexed by
// what it waits for: an event costs nothing for those that it does not concern, and moves the
// others back to the front once, however many events there are.
//
// Requests of which the rules can only say the same are of one shape: what is not enough for the
// first of them is not enough for the others. So only the first of each shape is looked at when
// something has changed, however many wait.
class RequestQueue {
 public:
  using ServiceKey = model::NodeRequest::ServiceKey;

  // What the rules look at in a request.
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

  // The request is to be looked at.
  void enqueue(const ServiceKey& key);

  // Forgets it: it is gone, or served. Those who had to let it go first are to be looked at.
  void remove(const ServiceKey& key);

  // The next request to look at, in order of service; it is then in nobody's line any more, until
  // wait() or remove() says what has come of it.
  std::optional<ServiceKey> next();

  // The request waits for what the decision says.
  void wait(const ServiceKey& key, const model::NodeRequest& request, const Decision& decision);

  // Something has changed that requests may have waited for: all who wait for that are to be
  // looked at, as far as it may do for them.
  void registry_has_changed();
  void launch_has_ended();
  void label_is_free(std::string_view label);
  void provider_has_answered();
  void capacity_has_grown();
  void tenant_takes_less(std::string_view tenant);
  // … for whoever waits because a limit is reached, whosever it is.
  void limits_may_allow_more();

  // Whether a request waits for room.
  bool is_short_of_capacity() const { return !waiting_by_age_.empty() || !starved_.empty(); }

  // The first request before `order` that has waited for room at `now` longer than may be asked of
  // it, in seconds since the epoch; if `labels` are given, only of those that want one of them.
  std::optional<ServiceKey> first_starved(const ServiceKey& key, double now,
                                          const std::set<std::string, std::less<>>* labels);

 private:
  // What a request waits for: of which tenant, or of which request, where that matters.
  struct Cause {
    Decision::Until until = Decision::Until::nothing;
    std::string whose;

    auto operator<=>(const Cause&) const = default;
  };

  // Those of one shape; none is empty.
  struct Line {
    std::set<ServiceKey> keys;
    std::map<Cause, std::size_t> causes;  // how many wait for each
    std::optional<ServiceKey> awake;  // there may be enough for the first: where it is in awake_
  };
  using Lines = std::map<Shape, Line>;
  using Entry = Lines::value_type;

  struct Waiting {
    Lines::iterator line;
    Cause cause;
    double since;  // when the request was made, in seconds since the epoch
  };

  void leave_line(const ServiceKey& key);
  void allow_passing(const ServiceKey& key);
  void release_place(const ServiceKey& key, bool is_kept);
  void wake(Entry& entry);
  void wake_all(std::set<Entry*>* entries);
  void sleep(Entry& entry);
  void keep_place(Entry& entry);
  void index(Entry& entry);
  void unindex(Entry& entry);
  void join_capacity_queue(const ServiceKey& key, const Waiting& waiting);
  void leave_capacity_queue(const ServiceKey& key, const Waiting& waiting);
  void advance_time(double now);

  std::set<ServiceKey> to_evaluate_;
  Lines lines_;
  std::map<ServiceKey, Waiting> waiting_;
  std::map<ServiceKey, Entry*> awake_;  // by the first of each
  // The others, by what would wake them.
  std::map<Cause, std::set<Entry*>> by_cause_;
  std::map<std::string, std::set<Entry*>, std::less<>> by_label_;
  // Who waits for room: by how long, then those who have waited long enough.
  std::set<std::pair<double, ServiceKey>> waiting_by_age_;
  std::set<ServiceKey> starved_;
  std::map<std::string, std::set<ServiceKey>, std::less<>> starved_by_label_;
  // Who was looked at last, if it waited for room until then: others may wait behind it.
  std::optional<ServiceKey> last_capacity_waiter_;
};

}  // namespace nodepool::planning
