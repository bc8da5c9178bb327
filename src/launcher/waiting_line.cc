#include "launcher/waiting_line.h"

#include <utility>

namespace nodepool::launcher {

void WaitingLine::look_at(const Order& order) {
  remove(order);
  to_look_at_.insert(order);
}

void WaitingLine::remove(const Order& order) {
  to_look_at_.erase(order);
  registry_.erase(order);
  launch_slot_.erase(order);
  const auto waiting = labels_of_.extract(order);
  if (waiting.empty()) return;
  for (const std::string& label : waiting.mapped()) {
    const auto line = by_label_.find(label);
    if (line == by_label_.end()) continue;
    line->second.erase(order);
    if (line->second.empty()) by_label_.erase(line);
  }
}

std::optional<WaitingLine::Order> WaitingLine::next() {
  if (to_look_at_.empty()) return std::nullopt;
  return to_look_at_.extract(to_look_at_.begin()).value();
}

void WaitingLine::wait(const Order& order, const Decision& decision) {
  remove(order);
  switch (decision.until) {
    case Decision::Until::label_is_available:
      labels_of_[order] = decision.other_labels;
      labels_of_[order].push_back(decision.label);
      for (const std::string& label : labels_of_[order]) by_label_[label].insert(order);
      break;
    case Decision::Until::registry_changes:
      registry_.insert(order);
      break;
    case Decision::Until::launch_slot_is_free:
      launch_slot_.insert(order);
      break;
    case Decision::Until::nothing:
      break;
  }
}

std::optional<WaitingLine::Order> WaitingLine::first_waiting_for(std::string_view label) const {
  const auto line = by_label_.find(label);
  if (line == by_label_.end()) return std::nullopt;
  return *line->second.begin();
}

std::optional<WaitingLine::Order> WaitingLine::next_waiting_for(std::string_view label,
                                                                const Order& previous) const {
  const auto line = by_label_.find(label);
  if (line == by_label_.end()) return std::nullopt;
  const auto next = line->second.upper_bound(previous);
  if (next == line->second.end()) return std::nullopt;
  return *next;
}

void WaitingLine::wake_waiting_for_registry() {
  to_look_at_.merge(std::exchange(registry_, {}));
}

void WaitingLine::wake_waiting_for_launch_slot() {
  to_look_at_.merge(std::exchange(launch_slot_, {}));
}

}  // namespace nodepool::launcher
