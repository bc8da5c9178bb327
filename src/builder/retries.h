#pragma once

#include <map>
#include <optional>

#include "async/backoff.h"
#include "async/clock.h"

namespace nodepool::builder {

// Times of retries after failures, with exponential backoff.
template <typename Key>
class Retries {
 public:
  using TimePoint = async::Clock::TimePoint;

  Retries(async::Duration first, async::Duration longest) : first_(first), longest_(longest) {}

  // Returns the delay until the retry.
  async::Duration failed(const Key& key, TimePoint now) {
    Failure& failure = failures_.try_emplace(key, Failure{{first_, longest_}}).first->second;
    failure.not_before = now + failure.backoff.failed();
    return failure.backoff.pause();
  }

  // Resets the backoff, after a success or a change.
  void forget(const Key& key) { failures_.erase(key); }

  // The time of the retry. Returns nothing if it has not failed.
  std::optional<TimePoint> not_before(const Key& key) const {
    const auto found = failures_.find(key);
    if (found == failures_.end()) return std::nullopt;
    return found->second.not_before;
  }

 private:
  struct Failure {
    async::Backoff backoff;
    TimePoint not_before{};
  };

  async::Duration first_;
  async::Duration longest_;
  std::map<Key, Failure> failures_;
};

}  // namespace nodepool::builder
