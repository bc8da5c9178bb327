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

// The answer to a question that many ask at the same time, such as "which servers are there?": it
// is asked once for all of them, not more often than is of use, and never again before it has been
// answered: where an answer takes long, those who need a younger one wait for the next.
template <typename T>
class SharedAnswer {
 public:
  using Ask = std::function<Task<T>()>;
  using Pointer = std::shared_ptr<const T>;

  // `name` is what is asked for, for stack dumps; a literal.
  SharedAnswer(const Runtime& runtime, std::string_view name, Ask ask)
      : runtime_(runtime),
        name_(name),
        ask_(std::move(ask)),
        scope_(runtime, [](const std::string&, const std::string&) {}) {}

  // An answer to a question that was asked no longer than `max_age` ago: the last one, or a new one
  // that all who wait get. Throws what the asking threw. Throws Cancelled, which leaves the
  // question to the others.
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

  // The answer to the question that is under way, however long ago it was asked, or to one that is
  // asked now. Throws as get() does.
  Task<Pointer> next() {
    const std::shared_ptr<Round> round = join();
    while (!round->ended) co_await round->changed.wait();
    if (round->failure) std::rethrow_exception(round->failure);
    co_return round->answer;
  }

  // Forgets the last answer.
  void drop() { answer_.reset(); }

  // Ends a question that is under way; who waits for it must have been cancelled before.
  Task<> stop() { co_await scope_.stop(); }

 private:
  // One asking of the question.
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
  std::shared_ptr<Round> round_;  // under way
  TaskScope scope_;
};

}  // namespace nodepool::async
