// The notifications to systemd, on a socket like systemd's.

#include "program/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "tests/program/notify_socket.h"
#include "tests/support/virtual_time.h"

namespace nodepool::program {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ServiceManagerTest : public testing::Test {
 protected:
  // The watchdog of a service is fed for that long.
  std::vector<std::string> fed_within(async::Duration duration) {
    ServiceManager manager(runtime_);
    async::TaskScope scope(runtime_, [](const std::string&, const std::string&) {});
    scope.spawn("watchdog", manager.feed_watchdog());
    test_support::pass(clock_, duration, [this] { loop_.poll(); });
    loop_.run(scope.stop());
    return socket_.received();
  }

  NotifySocket socket_;
  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{3};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
};

TEST_F(ServiceManagerTest, it_is_notified_of_the_start_and_the_end) {
  socket_.publish();
  ServiceManager manager(runtime_);
  manager.started("waiting\nfor the store");
  manager.stopping();
  EXPECT_THAT(socket_.received(),
              ElementsAre("READY=1\nSTATUS=waiting for the store", "STOPPING=1"));
}

TEST_F(ServiceManagerTest, a_status_is_sent_when_it_changes_after_the_start) {
  socket_.publish();
  ServiceManager manager(runtime_);
  manager.set_status("early");
  manager.started("Serving");
  manager.set_status("Serving");
  for (int i = 0; i < 2; ++i) manager.set_status("the disk\nis full");
  manager.set_status("Serving");
  EXPECT_THAT(socket_.received(),
              ElementsAre("READY=1\nSTATUS=Serving", "STATUS=the disk is full", "STATUS=Serving"));
}

TEST_F(ServiceManagerTest, without_a_valid_socket_nothing_is_sent) {
  for (const char* socket : {"", "/nowhere/at/all", "@nobody"}) {
    ::setenv("NOTIFY_SOCKET", socket, 1);
    ServiceManager(runtime_).started("Serving");
  }
  EXPECT_THAT(socket_.received(), IsEmpty());
}

TEST_F(ServiceManagerTest, a_watchdog_is_fed_in_time) {
  socket_.publish();
  EXPECT_THAT(fed_within(std::chrono::minutes(1)), IsEmpty());
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_THAT(fed_within(std::chrono::seconds(30)),
              ElementsAre("WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"));
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_THAT(fed_within(std::chrono::minutes(1)), IsEmpty());
}

}  // namespace
}  // namespace nodepool::program
