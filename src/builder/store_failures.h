#pragma once

#include <chrono>
#include <map>

#include "async/backoff.h"
#include "builder/delay_queue.h"
#include "coordination/error.h"

namespace nodepool::builder {

// Delays keys for whose work the store fails, for example when it is full. That is no failure of
// the work: a retry costs little, and is due soon after the store works again.
template <typename Key>
class StoreFailures {
 public:
  using Kind = coordination::StoreError::Kind;

  // `queue` outlives it.
  explicit StoreFailures(DelayQueue<Key>& queue) : queue_(queue) {}

  // Returns whether the last attempt did not fail like this: then the failure is news.
  bool failed(const Key& key, Kind kind) {
    const auto [entry, is_first] = failures_.try_emplace(key, Failure{.kind = kind});
    Failure& failure = entry->second;
    const bool is_news = is_first || failure.kind != kind;
    failure.kind = kind;
    queue_.delay(key, failure.backoff.failed());
    return is_news;
  }

  void succeeded(const Key& key) { failures_.erase(key); }

 private:
  struct Failure {
    Kind kind{};
    async::Backoff backoff{std::chrono::seconds(1), std::chrono::seconds(20)};
  };

  DelayQueue<Key>& queue_;
  std::map<Key, Failure> failures_;
};

}  // namespace nodepool::builder
