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

// What there is to do, and from when on: several workers take from it, the longest due first.
// Nothing is looked at again unless it was named by enqueue() or its time has come.
template <typename Key>
class DelayQueue {
 public:
  // When the thing is to be done; a time that has passed: now; nothing: not before something about
  // it changes.
  using DueFunction = std::function<std::optional<async::Clock::TimePoint>(const Key& key)>;

  DelayQueue(async::Clock& clock, DueFunction evaluate)
      : clock_(clock), due_of_(std::move(evaluate)) {}

  // Something about it may have changed.
  void enqueue(Key key) {
    changed_.insert(std::move(key));
    wake_.set();
  }

  // Returns the next thing to do once it is due; nobody else gets it until it is put back. Nothing
  // after close(). Throws Cancelled.
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
      // What it waited for may have moved meanwhile: the machine's time, for one.
      const std::optional<async::Clock::TimePoint> now_due = due(key);
      if (now_due && *now_due > clock_.now()) remember(key, *now_due);
      if (!now_due || *now_due > clock_.now()) continue;
      taken_.insert(key);
      co_return key;
    }
    co_return std::nullopt;
  }

  // Somebody else has it, though nothing is known of it yet: it is left alone for a moment.
  void contended(const Key& key) { contended_until_[key] = clock_.now() + kNewsTravel; }

  // Its worker is done with it: it is not handed out again before something about it changes.
  void release(const Key& key) {
    taken_.erase(key);
    wake_.set();
  }

  // The same, and it is to be looked at again.
  void requeue(const Key& key) {
    taken_.erase(key);
    enqueue(key);
  }

  bool is_taken(const Key& key) const { return taken_.contains(key); }

  // Nothing new is handed out.
  void close() {
    closed_ = true;
    wake_.set();
  }

 private:
  // How long what others do takes to be known here.
  static constexpr auto kNewsTravel = std::chrono::seconds(1);

  std::optional<async::Clock::TimePoint> due(const Key& key) {
    const auto when = due_of_(key);
    const auto contended = contended_until_.find(key);
    if (contended == contended_until_.end()) return when;
    const auto until = contended->second;
    if (until <= clock_.now()) contended_until_.erase(contended);
    return when ? std::optional(std::max(*when, until)) : when;
  }

  void update_changed() {
    for (auto at = changed_.begin(); at != changed_.end();) {
      if (taken_.contains(*at)) {
        ++at;  // when it is back
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
  std::map<Key, async::Clock::TimePoint> contended_until_;
  std::set<Key> changed_;
  std::set<Key> taken_;
  std::map<Key, async::Clock::TimePoint> times_;
  std::set<std::pair<async::Clock::TimePoint, Key>> due_;
  bool closed_ = false;
  async::Event wake_{"there is something to do, or its time has come"};
};

}  // namespace nodepool::builder
