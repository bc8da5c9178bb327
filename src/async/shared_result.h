#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"

namespace nodepool::async {

// Shares the result of a request between concurrent callers, such as the list of servers. One
// request is in flight at a time; callers that need a newer result wait for the next request.
template <typename T>
class SharedResult {
 public:
  using Ask = std::function<Task<T>()>;
  using Pointer = std::shared_ptr<const T>;

  // `name` names the request in stack dumps; a literal.
  SharedResult(const Runtime& runtime, std::string_view name, Ask ask)
      : runtime_(runtime),
        name_(name),
        ask_(std::move(ask)),
        scope_(runtime, [](const std::string&, const std::string&) {}) {}

  // The result of a request that was sent at most `max_age` ago: the last result, or the one of a
  // new request, shared by all waiting callers. Throws what the request throws. Throws Cancelled;
  // the request continues for the other callers.
  Task<Pointer> get(Duration max_age) {
    const auto oldest = runtime_.clock.now() - max_age;
    while (true) {
      if (answer_ && asked_at_ >= oldest) co_return answer_;
      const std::shared_ptr<Round> round = join();
      while (!round->ended) co_await round->changed.wait();
      if (round->asked_at < oldest) continue;
      if (round->failure) std::rethrow_exception(round->failure);
      co_return round->answer;
    }
  }

  // The result of the request in flight, regardless of its age, or of a new request. Throws like
  // get().
  Task<Pointer> next() {
    const std::shared_ptr<Round> round = join();
    while (!round->ended) co_await round->changed.wait();
    if (round->failure) std::rethrow_exception(round->failure);
    co_return round->answer;
  }

  // The last result, of a request that was sent at most `max_age` ago; nullptr if there is none.
  Pointer last(Duration max_age) const {
    return asked_at_ >= runtime_.clock.now() - max_age ? answer_ : nullptr;
  }

  // When the request in flight was sent; now, if there is none.
  Clock::TimePoint sent_at() const { return round_ ? round_->asked_at : runtime_.clock.now(); }

  // For `ask`: the request is sent only now, after it has waited for its turn. The age of its
  // result counts from now on.
  void mark_sent() {
    if (round_) round_->asked_at = runtime_.clock.now();
  }

  // Discards the last result.
  void drop() { answer_.reset(); }

  // Cancels the request in flight. Its callers, and later ones, get Cancelled.
  void cancel() {
    is_cancelled_ = true;
    scope_.cancel();
  }

  // Cancels the request in flight. Its waiting callers must have been cancelled before.
  Task<> stop() { co_await scope_.stop(); }

 private:
  // One request and its result.
  struct Round {
    Round(std::string_view name, Clock::TimePoint when) : asked_at(when), changed(name) {}

    Clock::TimePoint asked_at;
    bool ended = false;
    Pointer answer;
    std::exception_ptr failure;
    Event changed;
  };

  std::shared_ptr<Round> join() {
    if (!round_) {
      if (is_cancelled_) throw Cancelled();
      round_ = std::make_shared<Round>(name_, runtime_.clock.now());
      scope_.spawn(std::string(name_), run(round_));
    }
    return round_;
  }

  Task<> run(std::shared_ptr<Round> round) {
    try {
      round->answer = std::make_shared<const T>(co_await ask_());
      answer_ = round->answer;
      asked_at_ = round->asked_at;
    } catch (...) {
      round->failure = std::current_exception();
    }
    round->ended = true;
    if (round_ == round) round_.reset();
    round->changed.set();
  }

  Runtime runtime_;
  std::string_view name_;
  Ask ask_;
  Pointer answer_;
  Clock::TimePoint asked_at_{};
  std::shared_ptr<Round> round_;  // in flight; null if none
  bool is_cancelled_ = false;
  TaskScope scope_;
};

}  // namespace nodepool::async
