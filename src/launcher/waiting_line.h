#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "decision/decision.h"
#include "model/node_request.h"

namespace nodepool::launcher {

using decision::Decision;

// Which requests a pool has to look at next, and what the others wait for. An event moves only
// those requests back to the front that it concerns.
//
// Requests of which the rules can only say the same are of one shape: what is not enough for the
// first of them is not enough for the others. So only the first of each shape is looked at when
// something has changed, however many wait.
class WaitingLine {
 public:
  using Order = model::NodeRequest::Order;

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
  void look_at(const Order& order);

  // Forgets it. If it waited for room, there may be more for those behind it.
  void remove(const Order& order);

  // The next request to look at, in order of service; it is then in nobody's line any more.
  std::optional<Order> next();

  // The request waits for what the decision says.
  void wait(const Order& order, const model::NodeRequest& request, const Decision& decision);

  // Something has changed that requests may have waited for: all who wait for that are to be
  // looked at, as far as it may do for them.
  void registry_has_changed();
  void launch_has_ended();
  void label_is_free(std::string_view label);
  void there_is_more_room();
  void tenant_takes_less(std::string_view tenant);

  // Whether a request waits for room.
  bool is_short_of_room() const;

  // Calls `visit` with each shape that waits for room, and its first request, until it returns
  // true. Returns whether it did.
  bool any_short_of_room(const std::function<bool(const Shape&, const Order&)>& visit) const;

 private:
  // Those of one shape, by what they wait for; no set is empty.
  struct Line {
    std::map<Decision::Until, std::set<Order>> waiting;
    bool woken = false;  // there may be enough for the first
  };
  using Lines = std::map<Shape, Line>;

  static const Order* first(const Line& line);
  void wake_if(const std::function<bool(const Shape&, const Line&)>& concerned);
  bool leave_line(const Order& order);

  std::set<Order> to_look_at_;
  Lines lines_;
  std::map<Order, Lines::iterator> line_of_;
};

}  // namespace nodepool::launcher
