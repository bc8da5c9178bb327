#include "http/rate_governor.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>

#include "async/event.h"

namespace nodepool::http {

namespace {

constexpr auto kLooks = static_cast<std::size_t>(Precedence::look);

// How many others may go before a look that waits. One look sees all that has come up: at the
// spacing of a second that some clouds want, within a minute, however much is being made.
constexpr int kMostBeforeLook = 50;

}  // namespace

// Who waits for a turn, and when the next one is.
class RateGovernor::Line {
 public:
  struct Waiter {
    async::Event moved{"a call's turn"};  // it is the first now
  };
  using Waiters = std::list<Waiter*>;

  explicit Line(async::Clock& clock) : clock_(clock) {}

  async::Clock& clock() const { return clock_; }
  Waiters& waiters(Precedence precedence) { return waiters_[static_cast<std::size_t>(precedence)]; }

  void set_spacing(async::Duration spacing) { spacing_ = spacing; }
  void pause_until(async::Clock::TimePoint when) { paused_until_ = std::max(paused_until_, when); }

  async::Clock::TimePoint next() const {
    return spacing_ > async::Duration::zero() ? std::max(free_at_, paused_until_) : paused_until_;
  }
  bool has_turn() const { return next() <= clock_.now(); }

  // The one whose turn is next; nullptr if nobody waits.
  Waiter* first() const {
    const Waiters* foremost = nullptr;
    for (const Waiters& waiters : waiters_) {
      if (foremost == nullptr && !waiters.empty()) foremost = &waiters;
    }
    if (passed_ >= kMostBeforeLook && !waiters_[kLooks].empty()) foremost = &waiters_[kLooks];
    return foremost == nullptr ? nullptr : foremost->front();
  }

  void wake_first() {
    if (Waiter* waiter = first()) waiter->moved.set();
  }

  void take(Precedence precedence) {
    free_at_ = clock_.now() + spacing_;
    const bool passes = precedence != Precedence::look && !waiters_[kLooks].empty();
    passed_ = passes ? passed_ + 1 : 0;
  }

 private:
  async::Clock& clock_;
  async::Duration spacing_{};
  async::Clock::TimePoint free_at_{};
  async::Clock::TimePoint paused_until_{};
  std::array<Waiters, kPrecedences> waiters_;
  int passed_ = 0;  // turns of others while a look has been waiting
};

// In the line from construction to destruction, however the wait ends.
class RateGovernor::Wait {
 public:
  Wait(std::shared_ptr<Line> line, Precedence precedence)
      : line_(std::move(line)), waiters_(line_->waiters(precedence)) {
    place_ = waiters_.insert(waiters_.end(), &waiter_);
  }
  ~Wait() {
    waiters_.erase(place_);
    line_->wake_first();
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  bool is_first() const { return line_->first() == &waiter_; }
  async::Event& moved() { return waiter_.moved; }

 private:
  std::shared_ptr<Line> line_;
  Line::Waiters& waiters_;
  Line::Waiter waiter_;
  Line::Waiters::iterator place_;
};

RateGovernor::RateGovernor(async::Clock& clock, double calls_per_second)
    : line_(std::make_shared<Line>(clock)) {
  set_rate(calls_per_second);
}

RateGovernor::~RateGovernor() = default;

void RateGovernor::set_rate(double calls_per_second) {
  line_->set_spacing(calls_per_second <= 0
                         ? async::Duration::zero()
                         : std::chrono::duration_cast<async::Duration>(
                               std::chrono::duration<double>(1 / calls_per_second)));
}

async::Task<> RateGovernor::turn(Precedence precedence) {
  const std::shared_ptr<Line> line = line_;
  if (line->first() == nullptr && line->has_turn()) {
    line->take(precedence);
    co_return;
  }
  Wait wait(line, precedence);
  while (!wait.is_first() || !line->has_turn()) {
    if (wait.is_first()) {
      co_await wait.moved().wait_until(line->clock(), line->next());
    } else {
      co_await wait.moved().wait();
    }
  }
  line->take(precedence);
}

void RateGovernor::pause_until(async::Clock::TimePoint when) {
  line_->pause_until(when);
}

}  // namespace nodepool::http
