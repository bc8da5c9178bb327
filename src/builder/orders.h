#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/event.h"

namespace nodepool::builder {

// A build or an upload that somebody waits for.
struct Order {
  enum class State { waiting, begun, succeeded, failed, withdrawn };

  explicit Order(std::string id) : build_id(std::move(id)) {}

  bool ended() const { return state != State::waiting && state != State::begun; }

  std::string build_id;
  State state = State::waiting;
  std::optional<int> percent_sent = {};  // of an upload that is being sent
  std::string problem = {};              // if it has failed
  async::Event changed{"an order has been taken up, has got on, or has ended"};
};

// What has been ordered of workers who look after `Key`s, in the order of the calls.
template <typename Key>
class Orders {
 public:
  // The order of that build; the same as before if it has not ended.
  std::shared_ptr<Order> place(const Key& key, const std::string& build_id) {
    if (auto known = find(key, build_id)) return known;
    auto order = std::make_shared<Order>(build_id);
    if (closed_) {
      order->state = Order::State::withdrawn;
      return order;
    }
    orders_[key].push_back(order);
    return order;
  }

  // The next one; null if there is none.
  std::shared_ptr<Order> next(const Key& key) const {
    const auto found = orders_.find(key);
    return found == orders_.end() ? nullptr : found->second.front();
  }

  // Who takes it up, how far that is, and how it ends, if it was ordered: with an empty `problem`
  // it has succeeded.
  void begin(const Key& key, const std::string& build_id) {
    if (const auto order = find(key, build_id)) set(*order, Order::State::begun);
  }
  void sending(const Key& key, const std::string& build_id, int percent) {
    const auto order = find(key, build_id);
    if (!order || order->percent_sent == percent) return;
    order->percent_sent = percent;
    order->changed.set();
  }
  void end(const Key& key, const std::string& build_id, const std::string& problem) {
    const auto order = find(key, build_id);
    if (!order) return;
    order->problem = problem;
    set(*order, problem.empty() ? Order::State::succeeded : Order::State::failed);
    std::erase(orders_[key], order);
    if (orders_[key].empty()) orders_.erase(key);
  }

  // Nobody wants it any more; no effect on one that has been begun.
  void withdraw(const Key& key, const Order& order) {
    const auto found = orders_.find(key);
    if (found == orders_.end() || order.state != Order::State::waiting) return;
    std::erase_if(found->second, [&order](const auto& known) { return known.get() == &order; });
    if (found->second.empty()) orders_.erase(found);
  }

  // What somebody waits for may have become impossible.
  void wake() {
    for (const auto& [key, queue] : orders_) {
      for (const auto& order : queue) order->changed.set();
    }
  }

  // Nothing is begun any more.
  void close() {
    closed_ = true;
    for (auto& [key, queue] : orders_) {
      for (const auto& order : queue) {
        if (order->state == Order::State::waiting) set(*order, Order::State::withdrawn);
      }
      std::erase_if(queue, [](const auto& order) { return order->ended(); });
    }
    std::erase_if(orders_, [](const auto& entry) { return entry.second.empty(); });
  }

 private:
  std::shared_ptr<Order> find(const Key& key, const std::string& build_id) const {
    const auto found = orders_.find(key);
    if (found == orders_.end()) return nullptr;
    for (const auto& order : found->second) {
      if (order->build_id == build_id) return order;
    }
    return nullptr;
  }

  static void set(Order& order, Order::State state) {
    order.state = state;
    order.changed.set();
  }

  std::map<Key, std::deque<std::shared_ptr<Order>>> orders_;  // no queue is empty
  bool closed_ = false;
};

}  // namespace nodepool::builder
