#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "launcher/decision.h"
#include "model/node_request.h"

namespace nodepool::launcher {

// Which requests a pool has to look at next, and what the others wait for. An event moves only
// those requests back to the front that it concerns.
class WaitingLine {
 public:
  using Order = model::NodeRequest::Order;

  // The request is to be looked at.
  void look_at(const Order& order);

  // Forgets it.
  void remove(const Order& order);

  // The next request to look at, in order of service; it is then in nobody's line any more.
  std::optional<Order> next();

  // The request waits for what the decision says (label or registry).
  void wait(const Order& order, const Decision& decision);

  // The first request that waits for `label`, or the first behind `previous`.
  std::optional<Order> first_waiting_for(std::string_view label) const;
  std::optional<Order> next_waiting_for(std::string_view label, const Order& previous) const;

  // The registered pools, or a launch slot, have changed: all who wait for that are to be looked
  // at.
  void wake_waiting_for_registry();
  void wake_waiting_for_launch_slot();

 private:
  std::set<Order> to_look_at_;
  std::set<Order> registry_;
  std::set<Order> launch_slot_;
  std::map<std::string, std::set<Order>, std::less<>> by_label_;
  std::map<Order, std::vector<std::string>> labels_of_;
};

}  // namespace nodepool::launcher
