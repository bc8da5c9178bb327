#include "launcher/waiting_line.h"

#include <algorithm>
#include <utility>

namespace nodepool::launcher {

namespace {

using Until = Decision::Until;

}  // namespace

WaitingLine::Shape::Shape(const model::NodeRequest& request)
    : labels(request.node_types),
      declined_by(request.declined_by),
      tenant(request.tenant_name.value_or("")),
      provider(request.provider.value_or("")),
      reuse(request.reuse),
      for_min_ready(request.requestor == decision::kMinReadyRequestor) {
  std::ranges::sort(labels);
  std::ranges::sort(declined_by);
}

void WaitingLine::look_at(const Order& order) {
  remove(order);
  to_look_at_.insert(order);
}

void WaitingLine::remove(const Order& order) {
  to_look_at_.erase(order);
  if (leave_line(order)) there_is_more_room();
}

// Returns whether it waited for room.
bool WaitingLine::leave_line(const Order& order) {
  const auto entry = line_of_.extract(order);
  if (entry.empty()) return false;
  const Lines::iterator line = entry.mapped();
  bool waited_for_room = false;
  auto& waiting = line->second.waiting;
  for (auto set = waiting.begin(); set != waiting.end();) {
    if (set->second.erase(order) > 0) waited_for_room = set->first == Until::there_is_room;
    set = set->second.empty() ? waiting.erase(set) : std::next(set);
  }
  if (waiting.empty()) lines_.erase(line);
  return waited_for_room;
}

const WaitingLine::Order* WaitingLine::first(const Line& line) {
  const Order* best = nullptr;
  for (const auto& [until, orders] : line.waiting) {
    if (best == nullptr || *orders.begin() < *best) best = &*orders.begin();
  }
  return best;
}

std::optional<WaitingLine::Order> WaitingLine::next() {
  const Order* best = to_look_at_.empty() ? nullptr : &*to_look_at_.begin();
  for (const auto& [shape, line] : lines_) {
    if (!line.woken) continue;
    const Order* candidate = first(line);
    if (best == nullptr || *candidate < *best) best = candidate;
  }
  if (best == nullptr) return std::nullopt;
  const Order order = *best;
  to_look_at_.erase(order);
  leave_line(order);
  return order;
}

void WaitingLine::wait(const Order& order, const model::NodeRequest& request,
                       const Decision& decision) {
  if (decision.until == Until::nothing) return;
  const auto line = lines_.try_emplace(Shape(request)).first;
  line->second.waiting[decision.until].insert(order);
  line->second.woken = false;
  line_of_[order] = line;
}

void WaitingLine::registry_has_changed() {
  wake_if([](const Shape&, const Line& line) {
    return line.waiting.contains(Until::registry_changes);
  });
}

void WaitingLine::wake_if(const std::function<bool(const Shape&, const Line&)>& concerned) {
  for (auto& [shape, line] : lines_) {
    if (!line.woken && concerned(shape, line)) line.woken = true;
  }
}

void WaitingLine::launch_has_ended() {
  wake_if([](const Shape&, const Line& line) { return line.waiting.contains(Until::launch_ends); });
}

void WaitingLine::label_is_free(std::string_view label) {
  wake_if([label](const Shape& shape, const Line&) {
    return std::ranges::binary_search(shape.labels, label, std::less<>{});
  });
}

void WaitingLine::there_is_more_room() {
  wake_if(
      [](const Shape&, const Line& line) { return line.waiting.contains(Until::there_is_room); });
}

void WaitingLine::tenant_takes_less(std::string_view tenant) {
  wake_if([tenant](const Shape& shape, const Line&) { return shape.tenant == tenant; });
}

bool WaitingLine::is_short_of_room() const {
  return any_short_of_room([](const Shape&, const Order&) { return true; });
}

bool WaitingLine::any_short_of_room(
    const std::function<bool(const Shape&, const Order&)>& visit) const {
  return std::ranges::any_of(lines_, [&visit](const auto& entry) {
    const auto& [shape, line] = entry;
    const auto orders = line.waiting.find(Until::there_is_room);
    return orders != line.waiting.end() && visit(shape, *orders->second.begin());
  });
}

}  // namespace nodepool::launcher
