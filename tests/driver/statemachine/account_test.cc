// What is left of an attempt when it has ended.

#include "json/json.h"
#include "tests/driver/statemachine/provider_test.h"
#include "tests/support/network.h"

namespace nodepool::driver {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Call = async::CallTracer::Call;
using EventKind = TraceEvent::Kind;

class LaunchRecorderTest : public testing::Test {
 protected:
  async::VirtualClock clock_;
  LaunchRecorder recorder_{clock_};
};

class AccountTest : public ProviderTest {
 protected:
  const std::vector<LaunchTrace>& accounts() const { return installation_.accounts; }

  static std::vector<std::string> steps(const LaunchTrace& account) {
    std::vector<std::string> steps;
    for (const TraceEvent& note : account.events) {
      if (note.kind == EventKind::step) steps.push_back(note.what);
    }
    return steps;
  }
};

TEST_F(LaunchRecorderTest, repeated_events_are_one_entry_with_the_last_id) {
  const Call poll{.name = "compute: server",
                  .method = "GET",
                  .path = "/servers/1",
                  .status = 200,
                  .id = "req-1",
                  .taken = std::chrono::milliseconds(5)};
  recorder_.called(poll);
  Call second = poll;
  second.id = "req-2";
  second.taken = std::chrono::milliseconds(9);
  recorder_.called(second);
  Call failed = poll;
  failed.status = 500;
  recorder_.called(failed);
  recorder_.polled("servers");
  const LaunchTrace account = recorder_.take();
  EXPECT_EQ(account.calls, 3U);
  ASSERT_THAT(account.events, SizeIs(3));
  EXPECT_EQ(account.events[0].times, 2U);
  EXPECT_EQ(account.events[0].id, "req-2");
  EXPECT_EQ(account.events[0].milliseconds, 9);
  EXPECT_EQ(account.events[1].status, 500);
  EXPECT_THAT(recorder_.take().events, IsEmpty()) << "the next attempt has its own";
}

TEST_F(LaunchRecorderTest, a_long_trace_keeps_its_beginning_and_its_end) {
  const std::string much(100'000, 'x');
  for (int i = 0; i < 10'000; ++i) {
    recorder_.called({.name = std::to_string(i), .method = "GET", .path = much, .id = much});
    recorder_.connected(std::to_string(i), "\x1b[31m" + much);
  }
  for (int i = 0; i < 1000; ++i) recorder_.console(much + "\n\x1b" + much);
  LaunchTrace account = recorder_.take();
  account.failure = "because";
  EXPECT_EQ(account.calls, 10'000U);
  ASSERT_THAT(account.events, SizeIs(80));
  EXPECT_EQ(account.left_out, 20'000U - 80U);
  EXPECT_EQ(account.events.front().what, "0");
  EXPECT_EQ(account.events.back().what, "9999");
  const std::string data = to_json(account);
  EXPECT_LT(data.size(), 128U << 10) << "a line of the history";
  EXPECT_THAT(data, Not(HasSubstr("\x1b")));
}

TEST_F(LaunchRecorderTest, of_a_console_the_last_lines_are_kept) {
  std::string console;
  for (int i = 1; i <= 300; ++i) console += "line " + std::to_string(i) + "\n";
  const std::string tail = console_tail(console);
  EXPECT_TRUE(tail.starts_with("line 201\n")) << tail;
  EXPECT_TRUE(tail.ends_with("\nline 300"));
  EXPECT_EQ(console_tail("one\ntwo\n"), "one\ntwo");
  EXPECT_EQ(console_tail(""), "");
  EXPECT_EQ(console_tail("\x1b[2Jgone"), "\\x1b[2Jgone");
  EXPECT_LE(console_tail(std::string(1 << 20, '\x07')).size(), 8U << 10);
}

TEST_F(AccountTest, a_successful_launch_leaves_one_line_without_details) {
  launch_new();
  ASSERT_THAT(accounts(), SizeIs(1));
  EXPECT_EQ(accounts()[0].failure, "");
  EXPECT_EQ(accounts()[0].result, "ready");
  EXPECT_FALSE(accounts()[0].resumed);
  EXPECT_THAT(summary(accounts()[0]), HasSubstr("attempt 1 of 3 succeeded after"));
  const auto data = json::parse(to_json(accounts()[0]));
  EXPECT_FALSE(data.contains("notes"));
}

TEST_F(AccountTest, each_attempt_has_its_steps_and_what_it_failed_with) {
  cloud_->fail("look", {CloudError::Kind::failed});
  launch_new();
  ASSERT_THAT(accounts(), SizeIs(2));
  EXPECT_EQ(accounts()[0].attempt, 1U);
  EXPECT_EQ(accounts()[0].attempts, 3U);
  EXPECT_EQ(accounts()[0].failure, "look went wrong");
  EXPECT_THAT(steps(accounts()[0]), testing::IsSupersetOf({"disk", "server"}));
  EXPECT_EQ(accounts()[1].failure, "");
  EXPECT_EQ(accounts()[1].attempt, 2U);
  EXPECT_FALSE(accounts()[1].resumed) << "the same launcher";
  EXPECT_EQ(steps(accounts()[1]).front(), "deleting the resources of the last attempt");
}

TEST_F(AccountTest, a_resumed_launch_notes_that_its_first_part_is_lost) {
  cloud_->boot_time = minutes(5);
  const std::string id = add_node();
  start().launch(id);
  process_->pass(minutes(1));
  cloud_->fail("look", {CloudError::Kind::failed});
  const auto job = start().launch(id);
  process_->run_until_ended(*job);
  ASSERT_THAT(accounts(), SizeIs(2));
  EXPECT_TRUE(accounts()[0].resumed);
  EXPECT_THAT(summary(accounts()[0]),
              HasSubstr("begun by another launcher (its part of the trace is lost)"));
  EXPECT_FALSE(accounts()[1].resumed);
}

TEST_F(AccountTest, a_host_that_never_answers_leaves_the_attempts_to_connect_and_its_console) {
  const test_support::ReservedPort port;
  scan_ = scan_network;
  config_->launch_retries_ = 1;
  config_->boot_timeout_ = seconds(30);
  config_->label("small").console_log = true;
  config_->label("small").access.connection_port = port.number();
  cloud_->described.interface_ip = "127.0.0.1";
  launch_error();
  ASSERT_THAT(accounts(), SizeIs(1));
  const LaunchTrace& account = accounts()[0];
  EXPECT_EQ(account.result, "error.keyscan");
  EXPECT_THAT(account.failure, HasSubstr("key scan: "));
  EXPECT_THAT(account.console, HasSubstr("console of np"));
  EXPECT_THAT(account.events,
              Contains(AllOf(Field(&TraceEvent::kind, EventKind::connection),
                             Field(&TraceEvent::what, HasSubstr("127.0.0.1 on port")),
                             Field(&TraceEvent::outcome, HasSubstr("refused")),
                             Field(&TraceEvent::times, testing::Gt(20U)))));
}

}  // namespace
}  // namespace nodepool::driver
