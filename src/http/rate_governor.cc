#include "http/rate_governor.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>

#include "async/event.h"

namespace nodepool::http {

namespace {

// Maximum number of calls of higher precedence before a waiting one, by its precedence. At one call
// a second, reads are then delayed by less than a minute.
constexpr std::array<int, kPrecedences> kMostBefore = {0, 10, 50};

}  // namespace

// The waiting calls, and the time of the next turn.
class RateGovernor::Queue {
 public:
  struct Waiter {
    async::Event moved{"the turn of a call"};  // set when it becomes the first
  };
  using Waiters = std::list<Waiter*>;

  explicit Queue(async::Clock& clock) : clock_(clock) {}

  async::Clock& clock() const { return clock_; }
  Waiters& waiters(Precedence precedence) { return waiters_[static_cast<std::size_t>(precedence)]; }

  void set_spacing(async::Duration spacing) { spacing_ = spacing; }
  void pause_until(async::Clock::TimePoint when) { paused_until_ = std::max(paused_until_, when); }

  async::Clock::TimePoint next() const {
    return spacing_ > async::Duration::zero() ? std::max(free_at_, paused_until_) : paused_until_;
  }
  bool has_turn() const { return next() <= clock_.now(); }

  // Returns the call with the next turn; null if none waits.
  Waiter* first() const {
    const Waiters* foremost = nullptr;
    for (std::size_t i = 0; i < kPrecedences; ++i) {
      const bool precedes = foremost == nullptr || passed_[i] >= kMostBefore[i];
      if (precedes && !waiters_[i].empty()) foremost = &waiters_[i];
    }
    return foremost == nullptr ? nullptr : foremost->front();
  }

  void wake_first() {
    if (Waiter* waiter = first()) waiter->moved.set();
  }

  void take(Precedence precedence) {
    free_at_ = clock_.now() + spacing_;
    const auto taken = static_cast<std::size_t>(precedence);
    passed_[taken] = 0;
    for (std::size_t i = taken + 1; i < kPrecedences; ++i) {
      passed_[i] = waiters_[i].empty() ? 0 : passed_[i] + 1;
    }
  }

 private:
  async::Clock& clock_;
  async::Duration spacing_{};
  async::Clock::TimePoint free_at_{};
  async::Clock::TimePoint paused_until_{};
  std::array<Waiters, kPrecedences> waiters_;
  // Turns of higher precedence while a call waits, by its precedence.
  std::array<int, kPrecedences> passed_{};
};

// Is in the queue from construction to destruction.
class RateGovernor::Wait {
 public:
  Wait(std::shared_ptr<Queue> queue, Precedence precedence)
      : queue_(std::move(queue)), waiters_(queue_->waiters(precedence)) {
    position_ = waiters_.insert(waiters_.end(), &waiter_);
  }
  ~Wait() {
    waiters_.erase(position_);
    queue_->wake_first();
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  bool is_first() const { return queue_->first() == &waiter_; }
  async::Event& moved() { return waiter_.moved; }

 private:
  std::shared_ptr<Queue> queue_;
  Queue::Waiters& waiters_;
  Queue::Waiter waiter_;
  Queue::Waiters::iterator position_;
};

RateGovernor::RateGovernor(async::Clock& clock, double calls_per_second)
    : queue_(std::make_shared<Queue>(clock)) {
  set_rate(calls_per_second);
}

RateGovernor::~RateGovernor() = default;

void RateGovernor::set_rate(double calls_per_second) {
  queue_->set_spacing(calls_per_second <= 0
                          ? async::Duration::zero()
                          : std::chrono::duration_cast<async::Duration>(
                                std::chrono::duration<double>(1 / calls_per_second)));
}

async::Task<> RateGovernor::turn(Precedence precedence) {
  const std::shared_ptr<Queue> queue = queue_;
  if (queue->first() == nullptr && queue->has_turn()) {
    queue->take(precedence);
    co_return;
  }
  Wait wait(queue, precedence);
  while (!wait.is_first() || !queue->has_turn()) {
    if (wait.is_first()) {
      co_await wait.moved().wait_until(queue->clock(), queue->next());
    } else {
      co_await wait.moved().wait();
    }
  }
  queue->take(precedence);
}

void RateGovernor::pause_until(async::Clock::TimePoint when) {
  queue_->pause_until(when);
}

}  // namespace nodepool::http
