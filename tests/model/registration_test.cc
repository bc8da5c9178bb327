#include "model/registration.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "coordination/faulty/faulty_store.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"

namespace nodepool::model {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kLaunchers = "/nodepool/components/launcher";

Component launcher() {
  Component component;
  component.hostname = "host";
  return component;
}

class RegistrationTest : public testing::Test {
 protected:
  void settle() {
    while (loop_.poll()) {
    }
  }
  std::vector<std::string> registered() { return loop_.run(inner_.children(kLaunchers)); }

  std::vector<std::string> messages_;  // that are logged
  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore inner_{server_, runtime_};
  coordination::FaultyStore store_{inner_, runtime_, {}, 1};
  Registration registration_{
      runtime_, store_,
      telemetry::Logger(telemetry::Log::to_consumer(
                            [this](telemetry::LogLevel, std::string_view,
                                   std::string_view message) { messages_.emplace_back(message); },
                            telemetry::LogLevel::info),
                        "test"),
      launcher()};
};

TEST_F(RegistrationTest, it_registers_anew_when_the_session_is_lost) {
  loop_.run(registration_.start());
  const auto before = registered();
  EXPECT_THAT(before, SizeIs(1));
  inner_.expire_for_tests();
  settle();
  EXPECT_THAT(registered(), SizeIs(1));
  EXPECT_NE(registered(), before);
  loop_.run(registration_.unregister());
  EXPECT_THAT(registered(), SizeIs(0));
}

TEST_F(RegistrationTest, a_lost_answer_leaves_no_second_record) {
  loop_.run(registration_.start());
  store_.set_plan({.lost_answer = 1});
  inner_.expire_for_tests();
  settle();
  ASSERT_THAT(registered(), SizeIs(1));
  store_.set_plan({});
  Component changed = registration_.component();
  changed.state = "running";
  registration_.update(changed);
  clock_.advance_to(clock_.now() + std::chrono::seconds(2));
  settle();
  ASSERT_THAT(registered(), SizeIs(1));
  const coordination::Entry entry =
      loop_.run(inner_.get(std::string(kLaunchers) + "/" + registered().front()));
  EXPECT_EQ(entry.data, to_record(changed));
  loop_.run(registration_.unregister());
  EXPECT_THAT(registered(), SizeIs(0));
}

TEST_F(RegistrationTest, it_registers_again_after_its_record_was_removed) {
  loop_.run(registration_.start());
  settle();
  const std::string record = std::string(kLaunchers) + "/" + registered().front();
  loop_.run(inner_.remove(record, coordination::kAnyVersion));
  settle();
  EXPECT_THAT(registered(), SizeIs(1));
  loop_.run(registration_.unregister());
  EXPECT_THAT(registered(), SizeIs(0));
}

TEST_F(RegistrationTest, a_record_that_is_removed_as_soon_as_it_is_made_is_made_anew) {
  loop_.run(registration_.start());
  const std::string record = std::string(kLaunchers) + "/" + registered().front();
  loop_.run(inner_.remove(record, coordination::kAnyVersion));
  settle();
  EXPECT_THAT(registered(), SizeIs(1));
  loop_.run(registration_.unregister());
}

TEST_F(RegistrationTest, it_does_not_work_against_a_user_who_removes_all_records) {
  loop_.run(registration_.start());
  const auto remove = [this] {
    const auto names = registered();
    for (const std::string& name : names) {
      loop_.run(inner_.remove(std::string(kLaunchers) + "/" + name, coordination::kAnyVersion));
    }
    settle();
    return names.size();
  };
  std::size_t removed = 0;
  for (int i = 0; i < 100; ++i) removed += remove();
  EXPECT_EQ(removed, 3u);
  EXPECT_THAT(registered(), SizeIs(0));
  clock_.advance_to(clock_.now() + std::chrono::seconds(1));
  settle();
  EXPECT_THAT(registered(), SizeIs(1));
  loop_.run(registration_.unregister());
}

TEST_F(RegistrationTest, a_lost_request_is_made_again) {
  loop_.run(registration_.start());
  store_.set_plan({.lost_request = 1});
  inner_.expire_for_tests();
  settle();
  ASSERT_THAT(registered(), SizeIs(0));
  store_.set_plan({});
  clock_.advance_to(clock_.now() + std::chrono::seconds(2));
  settle();
  EXPECT_THAT(registered(), SizeIs(1));
  loop_.run(registration_.unregister());
}

// The response is about a record that ended with the session.
TEST_F(RegistrationTest, a_store_that_stays_full_is_logged_once) {
  loop_.run(registration_.start());
  bool is_full = true;
  store_.set_plan({.is_full = [&is_full] { return is_full; }});
  Component changed = registration_.component();
  changed.problems = {"little space"};
  registration_.update(changed);
  for (int i = 0; i < 10; ++i) {
    settle();
    clock_.advance_to(clock_.now() + std::chrono::seconds(2));
  }
  EXPECT_GT(store_.counts().full, 5u);
  EXPECT_THAT(messages_, ElementsAre(StartsWith("Could not register, retrying: ")));
  is_full = false;
  settle();
  EXPECT_THAT(messages_, ElementsAre(_, "The registration is up to date again"));
  loop_.run(registration_.unregister());
}

TEST_F(RegistrationTest, a_session_lost_before_the_answer_to_the_registration_is_noticed) {
  loop_.run(registration_.start());
  store_.set_plan({.delay = 1, .longest_delay = std::chrono::seconds(1)});
  inner_.expire_for_tests();
  settle();
  while (registered().empty()) {
    clock_.advance_to(clock_.next_wakeup());
    settle();
  }
  inner_.expire_for_tests();
  store_.set_plan({});
  clock_.advance_to(clock_.now() + std::chrono::seconds(5));
  settle();
  EXPECT_THAT(registered(), SizeIs(1));
  loop_.run(registration_.unregister());
  EXPECT_THAT(registered(), SizeIs(0));
}

TEST_F(RegistrationTest, a_record_with_a_lost_creation_response_is_removed_as_well) {
  loop_.run(registration_.start());
  store_.set_plan({.lost_answer = 1});
  inner_.expire_for_tests();
  settle();
  ASSERT_THAT(registered(), SizeIs(1));
  store_.set_plan({});
  loop_.run(registration_.unregister());
  EXPECT_THAT(registered(), SizeIs(0));
}

}  // namespace
}  // namespace nodepool::model
