#include "drivers/libvirt/api/guarded_thread.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace nodepool::drivers::libvirt {
namespace {

using namespace std::chrono_literals;

struct Number {
  int value = 0;
};
using Thread = GuardedThread<Number>;

constexpr auto kAmple = 600s;

Thread numbered(const std::shared_ptr<std::atomic<int>>& made) {
  return Thread([made] { return std::make_shared<Number>(Number{++*made}); });
}

// A call that returns when the test says so.
struct Hanging {
  std::atomic<bool> has_begun = false;
  std::promise<void> end;
  std::promise<void> has_ended;

  static std::function<int(Number&)> call(const std::shared_ptr<Hanging>& hanging) {
    return [hanging](Number& number) {
      hanging->has_begun = true;
      hanging->end.get_future().wait();
      hanging->has_ended.set_value();
      return number.value;
    };
  }
};

// Makes the call until it has begun; none that is late begins.
void leave_behind(Thread& thread, const std::shared_ptr<Hanging>& hanging) {
  while (!hanging->has_begun) {
    try {
      thread.run<int>(1ms, Hanging::call(hanging));
      FAIL() << "it has returned";
    } catch (const Thread::TimedOut&) {
    } catch (const Thread::Stuck&) {
      std::this_thread::yield();  // earlier threads have not ended yet
    }
  }
}

int value_from(Thread& thread) {
  return thread.run<int>(kAmple, [](Number& number) { return number.value; });
}

TEST(GuardedThread, calls_share_a_thread_and_its_state) {
  const auto made = std::make_shared<std::atomic<int>>(0);
  Thread thread = numbered(made);
  EXPECT_EQ(value_from(thread), 1);
  thread.run<void>(kAmple, [](Number& number) { number.value = 7; });
  EXPECT_EQ(value_from(thread), 7);
  EXPECT_EQ(*made, 1);
}

TEST(GuardedThread, what_a_call_throws_is_thrown) {
  Thread thread = numbered(std::make_shared<std::atomic<int>>(0));
  const std::function<int(Number&)> fail = [](Number&) -> int { throw std::runtime_error("no"); };
  EXPECT_THROW(thread.run<int>(kAmple, fail), std::runtime_error);
  EXPECT_EQ(value_from(thread), 1);
}

// The next value, once few enough calls hang.
int value_in_the_end(Thread& thread) {
  while (true) {
    try {
      return value_from(thread);
    } catch (const Thread::Stuck&) {
      std::this_thread::yield();
    }
  }
}

TEST(GuardedThread, calls_that_hang_are_left_behind) {
  Thread thread = numbered(std::make_shared<std::atomic<int>>(0));
  const int before = value_from(thread);
  const auto first = std::make_shared<Hanging>();
  leave_behind(thread, first);
  EXPECT_GT(value_in_the_end(thread), before) << "with a new state";
  const auto second = std::make_shared<Hanging>();
  leave_behind(thread, second);
  EXPECT_THROW(value_from(thread), Thread::Stuck);
  first->end.set_value();
  EXPECT_GT(value_in_the_end(thread), before);
  second->end.set_value();
  second->has_ended.get_future().wait();
}

TEST(GuardedThread, nothing_waits_for_a_call_that_hangs) {
  const auto hanging = std::make_shared<Hanging>();
  {
    Thread thread = numbered(std::make_shared<std::atomic<int>>(0));
    leave_behind(thread, hanging);
  }
  hanging->end.set_value();
  hanging->has_ended.get_future().wait();
}

}  // namespace
}  // namespace nodepool::drivers::libvirt
