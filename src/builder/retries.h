#pragma once

#include <map>
#include <optional>

#include "async/backoff.h"
#include "async/clock.h"

namespace nodepool::builder {

// When what has failed is to be tried again: soon at first, then less and less often.
template <typename Key>
class Retries {
 public:
  using TimePoint = async::Clock::TimePoint;

  Retries(async::Duration first, async::Duration longest) : first_(first), longest_(longest) {}

  // Returns how long it is left alone.
  async::Duration failed(const Key& key, TimePoint now) {
    Failure& failure = failures_.try_emplace(key, Failure{{first_, longest_}}).first->second;
    failure.not_before = now + failure.backoff.failed();
    return failure.backoff.pause();
  }

  // It has succeeded, or is another thing from now on.
  void forget(const Key& key) { failures_.erase(key); }

  // Before this it is not tried again; nothing if it has not failed.
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
