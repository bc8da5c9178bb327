#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "async/call_tracer.h"
#include "async/event.h"
#include "async/runtime.h"
#include "async/shared_answer.h"
#include "driver/cloud_error.h"
#include "driver/statemachine/next_poll.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// What a look at the cloud finds while something is waited for: that a machine comes up, or goes. A
// look that fails, or whose answer cannot be read, tells nothing: the result is empty (nullptr, no
// value), and the caller looks again until its own time limit ends that. This holds for all
// drivers. `what` is looked at, for the log: "Servers". Throws CloudError(permanent): a look is not
// allowed; Cancelled.
template <typename Found>
async::Task<Found> if_answered(async::Task<Found> look, std::string_view what,
                               telemetry::Logger log) {
  try {
    co_return co_await std::move(look);
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::permanent) throw;
    log.warning("{} cannot be looked at for now: {}", what, error.what());
  }
  co_return Found{};
}

// Something that a listing is to show: that a machine is up, or gone.
struct PollWaiter {
  // When it was asked for; nothing: by an earlier launcher.
  std::optional<async::Clock::TimePoint> since;
  std::optional<Expectation> expected;
  // What was asked for earlier might show what was there before: only younger listings count.
  bool only_younger = false;
  // How long the order for it has waited for its turn, and for the cloud's answer.
  async::Duration queued{};
  std::uint64_t seen = 0;  // the listing that was seen last
  // How long before it was shown it may have been there, at most.
  async::Duration gap{};
  bool too_late = false;  // the cloud did not let itself be looked at when that was due

  // How long it has taken, if the listing that was seen last is the first that shows it; nothing if
  // nobody knows when it began, or it was looked at too late to tell. As likely too long as too
  // short, by one step of looking at most.
  std::optional<async::Duration> taken(async::Clock::TimePoint now) const {
    if (!since || too_late) return std::nullopt;
    return now - *since - (expected ? std::min(gap / 2, expected->step) : gap / 2);
  }
};

// A listing of a cloud, such as all its machines, in which many wait for something. It is asked for
// when the first of them expects to see it, and all see what is listed. A listing that takes long
// is work for the cloud: it is left alone for as long again, but no longer than between two looks
// of those who know nothing. After each that fails in a row, it is left alone for twice as long.
//
// Where orders queue, one machine after the other comes up, and a look for each would double the
// calls. So who has queued leaves the look to those who come after him, for a part of the time that
// he has queued.
template <typename T>
class SharedPoller {
  using TimePoint = async::Clock::TimePoint;

  // Those who wait, and those who will.
  struct Waiters {
    std::multiset<TimePoint> dues;
    int pending_creates = 0;  // that are under way
    async::Event answered{"a listing"};
  };

 public:
  using Pointer = std::shared_ptr<const T>;
  using Ask = std::function<async::Task<T>()>;

  // `name` is for stack dumps and witnesses; a literal.
  SharedPoller(const async::Runtime& runtime, std::string_view name, PollIntervals intervals,
               Ask ask)
      : runtime_(runtime),
        name_(name),
        intervals_(intervals),
        ask_(std::move(ask)),
        answer_(runtime, name, [this] { return list(); }) {}

  // One that was asked for no longer than `max_age` ago. Throws what asking throws.
  async::Task<Pointer> get(async::Duration max_age) { co_return *co_await answer_.get(max_age); }

  // Begins to wait for something that has been asked for now, and takes that long if that is known.
  PollWaiter await(std::optional<Expectation> expected = {}) const {
    return {.since = runtime_.clock.now(), .expected = expected, .seen = number_};
  }

  // Something is being asked for that will be waited for: from when its call queues until that has
  // been answered. The listing outlives it.
  class PendingCreate {
   public:
    explicit PendingCreate(SharedPoller& listing)
        : listing_(listing), waiters_(listing.waiters_), begun_(listing.runtime_.clock.now()) {
      ++waiters_->pending_creates;
    }
    ~PendingCreate() {
      if (--waiters_->pending_creates == 0)
        waiters_->answered.set();  // nobody comes after those who wait
    }
    PendingCreate(const PendingCreate&) = delete;
    PendingCreate& operator=(const PendingCreate&) = delete;

    // Begins to wait, see above.
    PollWaiter await(std::optional<Expectation> expected) const {
      PollWaiter awaited = listing_.await(expected);
      awaited.queued = *awaited.since - begun_;
      return awaited;
    }

   private:
    SharedPoller& listing_;
    std::shared_ptr<Waiters> waiters_;
    TimePoint begun_;
  };

  // The same for something that an earlier launcher has asked for.
  PollWaiter await_earlier() const { return {.since = {}, .expected = {}, .seen = number_}; }

  // The same for something that is to go: what has been listed before this says nothing of it.
  PollWaiter await_removal() const {
    return {.since = runtime_.clock.now(), .expected = {}, .only_younger = true, .seen = number_};
  }

  // The next listing, once there is one. Throws what asking throws, Cancelled.
  async::Task<Pointer> next(PollWaiter& awaited) {
    TimePoint due = when_due(awaited);
    while (!is_new_for(awaited)) {
      due = when_due(awaited);
      const Waiting waiting(waiters_, due);
      const TimePoint poll_at = when_polled(awaited, due);
      if (runtime_.clock.now() >= poll_at) {
        co_await answer_.next();
      } else {
        co_await waiters_->answered.wait_until(runtime_.clock, poll_at);
      }
    }
    if (awaited.since) awaited.gap = *polled_at_ - std::max(polled_before_, *awaited.since);
    const async::Duration tolerance = awaited.expected ? awaited.expected->step : awaited.gap / 2;
    awaited.too_late = *polled_at_ > due + std::max(intervals_.unknown, tolerance);
    awaited.seen = number_;
    const auto tracer = async::tracer_of(co_await boost::asio::this_coro::executor);
    if (tracer) tracer->looked(name_);
    co_return latest_;
  }

  // The cloud has told that something has changed: it is looked at without waiting for the time
  // when that was expected.
  void poll_now() {
    has_changed_ = true;
    waiters_->answered.set();
  }

  // After the last call.
  async::Task<> stop() { return answer_.stop(); }

 private:
  // How long a look is left to others: this part of the time in the queue, and this part of the
  // usual time, but no longer than the time in the queue; so long at most.
  static constexpr int kPartOfQueue = 3;
  static constexpr int kPartOfUsual = 16;
  static constexpr async::Duration kMostLeft = std::chrono::seconds(10);

  // After looks that fail.
  static constexpr async::Duration kLongestRest = std::chrono::seconds(30);
  static constexpr int kMostDoublings = 16;

  static async::Duration peer_deferral(const PollWaiter& awaited) {
    const async::Duration usual = awaited.expected ? awaited.expected->usual : async::Duration();
    const async::Duration left =
        awaited.queued / kPartOfQueue + std::min(awaited.queued, usual / kPartOfUsual);
    return std::min(left, kMostLeft);
  }

  // Among those who wait, for as long as it lives.
  class Waiting {
   public:
    Waiting(std::shared_ptr<Waiters> waiters, TimePoint due)
        : waiters_(std::move(waiters)), place_(waiters_->dues.insert(due)) {}
    ~Waiting() { waiters_->dues.erase(place_); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    std::shared_ptr<Waiters> waiters_;
    std::multiset<TimePoint>::iterator place_;
  };

  bool is_new_for(const PollWaiter& awaited) const {
    if (!latest_ || number_ <= awaited.seen) return false;
    return !awaited.only_younger || !awaited.since || shown_since_ > *awaited.since;
  }

  async::Duration rest_after_poll() const {
    const async::Duration rest =
        std::max(intervals_.least, std::min(poll_took_, intervals_.unknown));
    if (failures_ == 0) return rest;
    return std::min(rest * (1 << std::min(failures_, kMostDoublings)),
                    std::max(rest, kLongestRest));
  }

  TimePoint when_due(const PollWaiter& awaited) const {
    const async::Duration rest = rest_after_poll();
    if (has_changed_) return polled_at_ ? *polled_at_ + rest : runtime_.clock.now();
    return next_poll(awaited.since, awaited.expected, polled_at_,
                     {.unknown = intervals_.unknown, .least = rest});
  }

  // The last moment at which one look serves most of those who wait; `due` is among theirs.
  TimePoint when_polled(const PollWaiter& awaited, TimePoint due) const {
    if (has_changed_) return due;
    const TimePoint latest = due + peer_deferral(awaited);
    return waiters_->pending_creates > 0 ? latest : *std::prev(waiters_->dues.upper_bound(latest));
  }

  async::Task<Pointer> list() {
    const TimePoint begun = runtime_.clock.now();
    has_changed_ = false;
    std::exception_ptr failure;
    Pointer listed;
    try {
      listed = std::make_shared<const T>(co_await ask_());
    } catch (...) {
      failure = std::current_exception();
    }
    if (listed) {
      latest_ = listed;
      ++number_;
      shown_since_ = begun;
      polled_before_ = polled_at_.value_or(TimePoint::min());
    }
    failures_ = failure ? failures_ + 1 : 0;
    polled_at_ = runtime_.clock.now();
    poll_took_ = *polled_at_ - begun;
    waiters_->answered.set();
    if (failure) std::rethrow_exception(failure);
    co_return listed;
  }

  async::Runtime runtime_;
  std::string_view name_;
  PollIntervals intervals_;
  Ask ask_;
  async::SharedAnswer<Pointer> answer_;
  std::shared_ptr<Waiters> waiters_ = std::make_shared<Waiters>();  // shared: they may go last
  Pointer latest_;
  std::uint64_t number_ = 0;  // of the latest
  TimePoint shown_since_{};   // when the latest was asked for
  TimePoint polled_before_ = TimePoint::min();
  std::optional<TimePoint> polled_at_;  // when the last one was answered, or failed
  async::Duration poll_took_{};         // the last one
  int failures_ = 0;                    // in a row, up to the last one
  bool has_changed_ = false;
};

}  // namespace nodepool::driver
