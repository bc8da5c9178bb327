#include "async/slots.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"

namespace nodepool::async {
namespace {

class SlotsTest : public testing::Test {
 protected:
  // Takes a slot in a task of its own, which may wait.
  void take() {
    const auto taking = [](Slots& slots, std::vector<Slots::Hold>& held) -> Task<> {
      Slots::Hold hold = co_await slots.take();
      held.push_back(std::move(hold));
    };
    scope_.spawn("take", taking(slots_, held_));
    settle();
  }
  void release() {
    held_.pop_back();
    settle();
  }
  void resize(std::size_t count) {
    slots_.resize(count);
    settle();
  }
  void settle() {
    while (loop_.poll()) {
    }
  }

  EventLoop loop_;
  VirtualClock clock_;
  Random random_{1};
  Runtime runtime_{loop_.executor(), clock_, random_};
  TaskScope scope_{runtime_, [](const std::string& /*task*/, const std::string& error) {
                     ADD_FAILURE() << error;
                   }};
  Slots slots_{2};
  std::vector<Slots::Hold> held_;
};

TEST_F(SlotsTest, a_task_waits_until_a_slot_is_released) {
  for (int i = 0; i < 3; ++i) take();
  EXPECT_EQ(held_.size(), 2U);
  release();
  EXPECT_EQ(held_.size(), 2U) << "it was passed on";
  EXPECT_TRUE(scope_.empty());
}

TEST_F(SlotsTest, more_slots_let_waiting_tasks_continue) {
  for (int i = 0; i < 5; ++i) take();
  resize(4);
  EXPECT_EQ(held_.size(), 4U);
  resize(Slots::kUnlimited);
  EXPECT_EQ(held_.size(), 5U);
}

TEST_F(SlotsTest, held_slots_count_when_there_are_fewer) {
  resize(Slots::kUnlimited);
  for (int i = 0; i < 4; ++i) take();
  resize(2);
  take();
  EXPECT_EQ(held_.size(), 4U);
  release();
  release();
  EXPECT_EQ(held_.size(), 2U) << "two are held";
  release();
  EXPECT_EQ(held_.size(), 2U) << "the waiting task has the third";
}

}  // namespace
}  // namespace nodepool::async
