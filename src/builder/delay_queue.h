#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "async/clock.h"
#include "async/event.h"

namespace nodepool::builder {

// A queue of keys with due times for several workers, longest due first. The due time of a key is
// evaluated only after enqueue() and when it is reached.
template <typename Key>
class DelayQueue {
 public:
  // The due time of a key. A time in the past means now. Nothing: not before the key is enqueued
  // again.
  using DueFunction = std::function<std::optional<async::Clock::TimePoint>(const Key& key)>;

  DelayQueue(async::Clock& clock, DueFunction evaluate)
      : clock_(clock), due_of_(std::move(evaluate)) {}

  // Evaluates the due time of the key again: something may have changed.
  void enqueue(Key key) {
    changed_.insert(std::move(key));
    wake_.set();
  }

  // Waits for the next key that is due. Other workers do not get it until release() or requeue().
  // Returns nothing after close(). Throws Cancelled.
  async::Task<std::optional<Key>> take() {
    while (!closed_) {
      update_changed();
      if (due_.empty()) {
        co_await wake_.wait();
        continue;
      }
      const auto [when, key] = *due_.begin();
      if (when > clock_.now()) {
        co_await wake_.wait_until(clock_, when);
        continue;
      }
      forget(key);
      // The due time may have changed meanwhile, for example with the wall clock.
      const std::optional<async::Clock::TimePoint> now_due = due(key);
      if (now_due && *now_due > clock_.now()) remember(key, *now_due);
      if (!now_due || *now_due > clock_.now()) continue;
      taken_.insert(key);
      co_return key;
    }
    co_return std::nullopt;
  }

  // Another process works on the key, although the records do not show it yet: delays the key.
  void contended(const Key& key) { delay(key, kReplicationDelay); }

  // Delays the key, also if it is enqueued meanwhile.
  void delay(const Key& key, async::Duration pause) { delayed_until_[key] = clock_.now() + pause; }

  // The worker is done. The key is not due again before it is enqueued.
  void release(const Key& key) {
    taken_.erase(key);
    wake_.set();
  }

  // The worker is done. Evaluates the key again.
  void requeue(const Key& key) {
    taken_.erase(key);
    enqueue(key);
  }

  bool is_taken(const Key& key) const { return taken_.contains(key); }

  // Ends all take() calls.
  void close() {
    closed_ = true;
    wake_.set();
  }

 private:
  // Time until changes of other processes arrive here.
  static constexpr auto kReplicationDelay = std::chrono::seconds(1);

  std::optional<async::Clock::TimePoint> due(const Key& key) {
    const auto when = due_of_(key);
    const auto delayed = delayed_until_.find(key);
    if (delayed == delayed_until_.end()) return when;
    const auto until = delayed->second;
    if (until <= clock_.now()) delayed_until_.erase(delayed);
    return when ? std::optional(std::max(*when, until)) : when;
  }

  void update_changed() {
    for (auto at = changed_.begin(); at != changed_.end();) {
      if (taken_.contains(*at)) {
        ++at;  // evaluated when it is released
        continue;
      }
      forget(*at);
      if (const auto when = due(*at)) remember(*at, *when);
      at = changed_.erase(at);
    }
  }

  void remember(const Key& key, async::Clock::TimePoint when) {
    times_[key] = when;
    due_.emplace(when, key);
  }

  void forget(const Key& key) {
    const auto found = times_.find(key);
    if (found == times_.end()) return;
    due_.erase({found->second, key});
    times_.erase(found);
  }

  async::Clock& clock_;
  DueFunction due_of_;
  std::map<Key, async::Clock::TimePoint> delayed_until_;
  std::set<Key> changed_;
  std::set<Key> taken_;
  std::map<Key, async::Clock::TimePoint> times_;
  std::set<std::pair<async::Clock::TimePoint, Key>> due_;
  bool closed_ = false;
  async::Event wake_{"a key was enqueued or is due"};
};

}  // namespace nodepool::builder
