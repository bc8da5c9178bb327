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
#include "async/shared_result.h"
#include "driver/cloud_error.h"
#include "driver/statemachine/next_poll.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// Decides how long a wait for a machine under way repeats polls that are not allowed:
// CloudError(permanent). The permission may return.
class Denials {
 public:
  static constexpr async::Duration kPatience = std::chrono::minutes(5);

  explicit Denials(const async::Clock& clock) : clock_(clock) {}

  // A poll was allowed.
  void reset() { since_.reset(); }

  // A poll was not allowed. Returns whether none has been for longer than the patience.
  bool is_final() {
    if (!since_) since_ = clock_.now();
    return clock_.now() - *since_ > kPatience;
  }

 private:
  const async::Clock& clock_;
  std::optional<async::Clock::TimePoint> since_;  // the first of these in a row
};

// Awaits a poll of the cloud while waiting for a machine to come up or go. If the poll fails, logs
// that and returns an empty result (nullptr, no value): the caller polls again until its own
// timeout. `what` is polled, for the log: "servers". Throws CloudError(permanent), unless `denials`
// permits another poll; nullptr: it does not. Throws Cancelled.
template <typename Found>
async::Task<Found> if_answered(async::Task<Found> poll, std::string_view what,
                               telemetry::Logger log, Denials* denials = nullptr) {
  try {
    Found found = co_await std::move(poll);
    if (denials != nullptr) denials->reset();
    co_return found;
  } catch (const CloudError& error) {
    const bool is_denied = error.kind() == CloudError::Kind::permanent;
    if (is_denied && (denials == nullptr || denials->is_final())) throw;
    log.warning("Error polling {}: {}", what, error.what());
  }
  co_return Found{};
}

// Waits for a change in a listing: that a machine is up, or gone.
struct PollWaiter {
  // When the change was requested; nothing: by an earlier launcher.
  std::optional<async::Clock::TimePoint> since;
  std::optional<Expectation> expected;
  // Ignore listings that were sent before `since`: they may show the previous state.
  bool only_younger = false;
  // How long the request was queued and waited for the cloud's response.
  async::Duration queued{};
  std::uint64_t seen = 0;             // number of the last listing seen
  async::Clock::TimePoint seen_at{};  // when that listing was received
  // How long before the last listing the change may have happened, at most.
  async::Duration gap{};
  bool too_late = false;  // the cloud could not be polled when a poll was due

  // How long the change has taken, if the last listing is the first that shows it. Does not contain
  // waits after it, such as for a call that confirms it. The error is at most one step of polling,
  // in both directions. Returns nothing if the start is unknown, or if the poll was too late.
  std::optional<async::Duration> taken() const {
    if (!since || too_late) return std::nullopt;
    return seen_at - *since - (expected ? std::min(gap / 2, expected->step) : gap / 2);
  }
};

// Polls one listing of a cloud, such as all its machines, for many waiters. Polls when the first
// waiter expects its change; all waiters get the result. After a listing that took long, pauses for
// as long again, at most PollIntervals::unknown. Backs off exponentially after failures.
//
// When creates are queued, machines come up one after the other, and a poll for each would double
// the calls. Therefore a waiter defers its poll to later waiters, for a part of the time that its
// create was queued.
template <typename T>
class SharedPoller {
  using TimePoint = async::Clock::TimePoint;

  // Current waiters and pending creates.
  struct Waiters {
    std::multiset<TimePoint> dues;
    int pending_creates = 0;
    async::Event answered{"a listing"};
  };

 public:
  using Pointer = std::shared_ptr<const T>;
  using Ask = std::function<async::Task<T>()>;

  // `name` is for stack dumps and traces; a literal. `ask` requests the listing: its age counts
  // from when the first call is sent, after it has waited for its turn. Calls of cloud::RestClient
  // and TaskManager report that.
  SharedPoller(const async::Runtime& runtime, std::string_view name, PollIntervals intervals,
               Ask ask)
      : runtime_(runtime),
        name_(name),
        intervals_(intervals),
        ask_(std::move(ask)),
        answer_(runtime, name, [this] { return list(); }) {}

  // A listing that was sent at most `max_age` ago. Throws what `ask` throws.
  async::Task<Pointer> get(async::Duration max_age) { co_return *co_await answer_.get(max_age); }

  // Forgets the last listing: the next get() requests another.
  void forget() { answer_.drop(); }

  // A waiter for a change that was requested now. `expected`: when it is expected, if known.
  PollWaiter await(std::optional<Expectation> expected = {}) const {
    return {.since = runtime_.clock.now(), .expected = expected, .seen = number_};
  }

  // A create call from the time when it is queued until it has returned. A waiter for its result
  // follows. The poller outlives it.
  class PendingCreate {
   public:
    explicit PendingCreate(SharedPoller& listing)
        : listing_(listing), waiters_(listing.waiters_), begun_(listing.runtime_.clock.now()) {
      ++waiters_->pending_creates;
    }
    ~PendingCreate() {
      if (--waiters_->pending_creates == 0) waiters_->answered.set();  // no reason to defer polls
    }
    PendingCreate(const PendingCreate&) = delete;
    PendingCreate& operator=(const PendingCreate&) = delete;

    // A waiter for the created machine; see SharedPoller::await().
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

  // A waiter for a change that an earlier launcher has requested.
  PollWaiter await_earlier() const { return {.since = {}, .expected = {}, .seen = number_}; }

  // A waiter for a deletion that was requested now. Ignores listings sent before.
  PollWaiter await_removal() const {
    return {.since = runtime_.clock.now(), .expected = {}, .only_younger = true, .seen = number_};
  }

  // Returns the next listing that is new for the waiter. Throws what `ask` throws, and Cancelled.
  async::Task<Pointer> next(PollWaiter& awaited) {
    const auto tracer = async::tracer_of(co_await boost::asio::this_coro::executor);
    TimePoint due = when_due(awaited);
    while (!is_new_for(awaited)) {
      due = when_due(awaited);
      const Waiting waiting(waiters_, due);
      const TimePoint poll_at = when_polled(awaited, due);
      if (runtime_.clock.now() >= poll_at) {
        co_await next_answer(tracer);
      } else {
        co_await waiters_->answered.wait_until(runtime_.clock, poll_at);
      }
    }
    if (awaited.since) awaited.gap = *polled_at_ - std::max(polled_before_, *awaited.since);
    const async::Duration tolerance = awaited.expected ? awaited.expected->step : awaited.gap / 2;
    awaited.too_late = *polled_at_ > due + std::max(intervals_.unknown, tolerance);
    awaited.seen = number_;
    awaited.seen_at = *polled_at_;
    if (tracer) tracer->polled(name_);
    co_return latest_;
  }

  // Polls as soon as possible, because the cloud has reported a change.
  void poll_now() {
    has_changed_ = true;
    waiters_->answered.set();
  }

  // Stops the poller, after all other calls have returned.
  async::Task<> stop() { return answer_.stop(); }

 private:
  // How long a poll is deferred: a fraction of the time in the queue, plus a fraction of the usual
  // time (at most the time in the queue), limited to kMaxDeferral.
  static constexpr int kPartOfQueue = 3;
  static constexpr int kPartOfUsual = 16;
  static constexpr async::Duration kMaxDeferral = std::chrono::seconds(10);

  // Backoff after failed polls.
  static constexpr async::Duration kMaxBackoff = std::chrono::seconds(30);
  static constexpr int kMaxDoublings = 16;

  static async::Duration peer_deferral(const PollWaiter& awaited) {
    const async::Duration usual = awaited.expected ? awaited.expected->usual : async::Duration();
    const async::Duration deferral =
        awaited.queued / kPartOfQueue + std::min(awaited.queued, usual / kPartOfUsual);
    return std::min(deferral, kMaxDeferral);
  }

  // Registers the due time of a waiter while it lives.
  class Waiting {
   public:
    Waiting(std::shared_ptr<Waiters> waiters, TimePoint due)
        : waiters_(std::move(waiters)), entry_(waiters_->dues.insert(due)) {}
    ~Waiting() { waiters_->dues.erase(entry_); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    std::shared_ptr<Waiters> waiters_;
    std::multiset<TimePoint>::iterator entry_;
  };

  // Notices when the first call of a poll is sent. It may be retried; later pages do not count.
  class SendingTracer final : public async::CallTracer {
   public:
    explicit SendingTracer(SharedPoller& poller) : poller_(poller) {}

    void sending(bool is_retry) override {
      if (!is_retry) ++calls_;
      if (calls_ > 1) return;
      poller_.sent_at_ = poller_.runtime_.clock.now();
      poller_.answer_.mark_sent();
    }

   private:
    SharedPoller& poller_;
    int calls_ = 0;
  };

  bool is_new_for(const PollWaiter& awaited) const {
    if (!latest_ || number_ <= awaited.seen) return false;
    return !awaited.only_younger || !awaited.since || shown_since_ > *awaited.since;
  }

  async::Duration pause_after_poll() const {
    const async::Duration pause =
        std::max(intervals_.least, std::min(poll_took_, intervals_.unknown));
    if (failures_ == 0) return pause;
    return std::min(pause * (1 << std::min(failures_, kMaxDoublings)),
                    std::max(pause, kMaxBackoff));
  }

  TimePoint when_due(const PollWaiter& awaited) const {
    const async::Duration pause = pause_after_poll();
    if (has_changed_) return polled_at_ ? *polled_at_ + pause : runtime_.clock.now();
    return next_poll(awaited.since, awaited.expected, polled_at_,
                     {.unknown = intervals_.unknown, .least = pause});
  }

  // The latest due time within the deferral, so that one poll serves most waiters. `due` is one of
  // the registered times.
  TimePoint when_polled(const PollWaiter& awaited, TimePoint due) const {
    if (has_changed_) return due;
    const TimePoint latest = due + peer_deferral(awaited);
    return waiters_->pending_creates > 0 ? latest : *std::prev(waiters_->dues.upper_bound(latest));
  }

  // `tracer`: the waiter's; nullptr: none.
  async::Task<> next_answer(std::shared_ptr<async::CallTracer> tracer) {
    try {
      co_await answer_.next();
    } catch (const CloudError& error) {
      if (tracer) tracer->poll_failed(name_, error.what());
      throw;
    }
  }

  async::Task<Pointer> list() {
    const TimePoint begun = runtime_.clock.now();
    sent_at_ = begun;
    has_changed_ = false;
    const auto tracer = std::make_shared<SendingTracer>(*this);
    async::set_tracer(co_await boost::asio::this_coro::executor, tracer);
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
      shown_since_ = sent_at_;
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
  async::SharedResult<Pointer> answer_;
  std::shared_ptr<Waiters> waiters_ = std::make_shared<Waiters>();  // may outlive this
  Pointer latest_;
  std::uint64_t number_ = 0;                    // of the latest listing
  TimePoint sent_at_{};                         // when the last poll was sent
  TimePoint shown_since_{};                     // when the latest listing was sent
  TimePoint polled_before_ = TimePoint::min();  // end of the poll before the latest listing
  std::optional<TimePoint> polled_at_;          // when the last poll ended or failed
  async::Duration poll_took_{};                 // duration of the last poll
  int failures_ = 0;                            // consecutive failed polls
  bool has_changed_ = false;
};

}  // namespace nodepool::driver
