// Reclaiming nodes with a store that fails at one moment, and with a cloud that refuses.

#include "launcher/deleted_node_worker.h"

#include <gmock/gmock.h>

#include <functional>
#include <ranges>
#include <utility>

#include "config/yaml.h"
#include "coordination/forwarding_store.h"
#include "coordination/path.h"
#include "model/lease.h"
#include "model/paths.h"
#include "tests/launcher/cloud_double.h"
#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

using coordination::StoreError;
using model::Node;
using model::NodeState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kReturnsOfSky =
    R"({name: sky, driver: cloud, pools: [{name: main, labels: [small]}]})";

// A store that, after a node was read, fails to list the contenders for its lock `failures_left`
// times.
class ForgetfulStore final : public coordination::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  int failures_left = 0;
  int failures = 0;

  Task<std::string> create(std::string path, std::string data,
                           coordination::CreateMode mode) override {
    has_read_ = false;  // another contender for a lock
    return ForwardingStore::create(std::move(path), std::move(data), mode);
  }
  Task<coordination::Entry> get(std::string path) override {
    has_read_ = true;
    return ForwardingStore::get(std::move(path));
  }
  Task<std::vector<std::string>> children(std::string path) override {
    if (has_read_ && failures_left > 0) {
      --failures_left;
      ++failures;
      throw coordination::store_error(StoreError::Kind::disconnected, path);
    }
    co_return co_await ForwardingStore::children(std::move(path));
  }

 private:
  bool has_read_ = false;
};

class DeletedNodeWorkerTest : public PartsFixture {
 protected:
  DeletedNodeWorkerTest() {
    config::ProviderSection section{.name = "sky", .driver = "cloud"};
    section.value = config::parse_yaml(kReturnsOfSky, "nodepool.yaml");
    providers_["sky"] = {
        driver_.provider(driver_.configure(section, config::Config()),
                         {runtime_, store_, nodes_, images_, threads_, log_, telemetry::Metrics()}),
        nullptr, nullptr};
    cloud_->machines = {"m1"};
  }
  ~DeletedNodeWorkerTest() override { loop_.run(worker_.stop()); }

  // An unlocked node in use with a lease that has not expired.
  std::string add_leased() {
    Node node = idle_node("main", "small");
    node.set_state(NodeState::in_use, clock_.wall_seconds());
    node.external_id = model::json_string("m1");
    node.user_data = model::lease_user_data({"200-1", clock_.wall_seconds() + 600, "me"});
    return add_node(node);
  }

  // A node that its requestor has returned.
  std::string add_used() {
    Node node = idle_node("main", "small");
    node.set_state(NodeState::used, clock_.wall_seconds());
    node.external_id = model::json_string("m1");
    return add_node(node);
  }

  // The reasons of the failures in the history. Stops the recorder.
  std::vector<std::string> recorded_reasons() {
    loop_.run(recorder_.stop());
    std::vector<std::string> reasons;
    for (const auto line : std::views::split(journal_lines_, '\n')) {
      const auto entry = history::parse_line(std::string_view(line));
      if (!entry) continue;
      EXPECT_EQ(entry->event, "reclaim-failed");
      reasons.push_back(entry->details);
    }
    return reasons;
  }

  std::vector<std::string> contenders(const std::string& id) {
    return loop_.run(store_.children(model::node_lock_path(id)));
  }

  std::shared_ptr<Cloud> cloud_ = std::make_shared<Cloud>();
  CloudDriver driver_{cloud_};
  Providers providers_;
  ForgetfulStore forgetful_{store_};
  std::vector<std::string> errors_;
  telemetry::Logger errors_log_{
      telemetry::Log::to_consumer(
          [this](telemetry::LogLevel, std::string_view, std::string_view message) {
            errors_.emplace_back(message);
          },
          telemetry::LogLevel::error),
      "test"};
  WorkerContext worker_context_{runtime_, forgetful_, records_, errors_log_};
  std::string journal_lines_;
  HistoryRecorder recorder_{
      runtime_,
      nodes_,
      requests_,
      threads_,
      log_,
      history::Journal{.directory = "",
                       .consume = [this](std::string_view lines) { journal_lines_ += lines; }}};
  DeletedNodeWorker worker_{worker_context_, recorder_, providers_, own_pools_};
};

// A requestor that turns its lock into a lease leaves the lock to the next contender for a moment.
TEST_F(DeletedNodeWorkerTest, a_node_with_an_unknown_lease_state_stays) {
  forgetful_.failures_left = 2;
  const std::string id = add_leased();
  worker_.start();
  settle();
  for (int failures = 1; failures <= 2; ++failures) {
    EXPECT_EQ(forgetful_.failures, failures);
    EXPECT_EQ(node(id).state, NodeState::in_use);
    EXPECT_THAT(contenders(id), IsEmpty()) << "the lock is left to others";
    EXPECT_THAT(cloud_->machines, Not(IsEmpty()));
    pass(seconds(5));
  }
  EXPECT_EQ(nodes_.find(id), nullptr) << "it is known that there is no lease";
  EXPECT_THAT(cloud_->machines, IsEmpty());
}

TEST_F(DeletedNodeWorkerTest, a_node_that_is_leased_after_all_stays) {
  forgetful_.failures_left = 1;
  const std::string id = add_leased();
  worker_.start();
  settle();
  ASSERT_EQ(forgetful_.failures, 1);
  loop_.run(others_.create(model::node_lock_path(id) + "/" + random_.uuid_hex() + "__lock__",
                           model::lease_contender("200-1"),
                           coordination::CreateMode::persistent_sequential));
  pass(seconds(60));
  EXPECT_EQ(node(id).state, NodeState::in_use);
  EXPECT_THAT(cloud_->machines, Not(IsEmpty()));
}

// Otherwise a few such machines use up the rate limit of their account.
TEST_F(DeletedNodeWorkerTest, a_machine_that_cannot_be_deleted_is_tried_ever_less_often) {
  cloud_->delete_failure = "conflict";
  const std::string id = add_used();
  worker_.start();
  settle();
  int attempts = 1;
  for (const int pause : {5, 10, 20, 40, 60, 60}) {
    pass(seconds(pause - 1));
    EXPECT_EQ(cloud_->deletions, attempts) << "before the end of " << pause << " s";
    pass(seconds(1));
    EXPECT_EQ(cloud_->deletions, ++attempts) << "after " << pause << " s";
  }
  EXPECT_THAT(errors_, ElementsAre(testing::HasSubstr("conflict"))) << "not for each attempt";
  cloud_->delete_failure = "still in use";
  pass(minutes(10));
  EXPECT_THAT(errors_,
              ElementsAre(testing::HasSubstr("conflict"), testing::HasSubstr("still in use")));
  EXPECT_THAT(contenders(id), IsEmpty()) << "a user may delete it with --now";
  cloud_->delete_failure.clear();
  pass(minutes(1));
  EXPECT_EQ(nodes_.find(id), nullptr);
}

TEST_F(DeletedNodeWorkerTest, a_refusal_for_good_is_repeated_less_often) {
  cloud_->delete_failure = "forbidden";
  cloud_->refuses_deletions = true;
  const std::string id = add_used();
  worker_.start();
  settle();
  int attempts = 1;
  for (const int pause : {5, 10, 20, 40, 80, 160, 320, 600, 600}) {
    pass(seconds(pause - 1));
    EXPECT_EQ(cloud_->deletions, attempts) << "before the end of " << pause << " s";
    pass(seconds(1));
    EXPECT_EQ(cloud_->deletions, ++attempts) << "after " << pause << " s";
  }
  cloud_->refuses_deletions = false;  // it fails in another way
  pass(minutes(10));
  EXPECT_EQ(cloud_->deletions, ++attempts);
  pass(minutes(1));
  EXPECT_EQ(cloud_->deletions, ++attempts);
}

TEST_F(DeletedNodeWorkerTest, a_failure_that_lasts_is_recorded_when_it_changes_and_every_hour) {
  cloud_->delete_failure = "conflict";
  add_used();
  worker_.start();
  pass(minutes(150));
  cloud_->delete_failure = "still in use";
  pass(minutes(3));
  EXPECT_THAT(recorded_reasons(), ElementsAre("conflict", "conflict", "conflict", "still in use"));
}

// AWS, for example: "Encoded authorization failure message: <another one each time>".
TEST_F(DeletedNodeWorkerTest, reasons_that_always_change_are_reported_every_ten_minutes) {
  add_used();
  cloud_->delete_failure = "refused, code 0";
  worker_.start();
  settle();
  for (int minute = 1; minute <= 15; ++minute) {
    cloud_->delete_failure = "refused, code " + std::to_string(minute);
    pass(minutes(1));
  }
  cloud_->delete_failure = "conflict";
  pass(minutes(30));
  EXPECT_THAT(recorded_reasons(),
              ElementsAre("refused, code 0", testing::StartsWith("refused"), "conflict"));
  EXPECT_EQ(errors_.size(), 3U);
}

TEST_F(DeletedNodeWorkerTest, a_node_that_is_released_anew_is_tried_at_once) {
  cloud_->delete_failure = "conflict";
  const std::string id = add_used();
  worker_.start();
  pass(minutes(20));
  const int before = cloud_->deletions;
  Node again = node(id);
  again.set_state(NodeState::deleting, clock_.wall_seconds());
  write_node(again);
  EXPECT_EQ(cloud_->deletions, before + 1);
  pass(seconds(5));
  EXPECT_EQ(cloud_->deletions, before + 2) << "the pauses begin anew";
}

TEST_F(DeletedNodeWorkerTest, what_is_written_into_the_record_of_an_attempt_is_no_release) {
  cloud_->delete_failure = "conflict";
  const std::string id = add_used();
  worker_.start();
  pass(minutes(20));
  const int before = cloud_->deletions;
  Node noted = node(id);
  noted.comment = "from the attempt of another launcher";
  write_node(noted);
  pass(seconds(10));
  EXPECT_EQ(cloud_->deletions, before);
}

// A lease request fails after its nodes are ready if they are too many for one lease.
TEST_F(DeletedNodeWorkerTest, the_ready_nodes_of_a_failed_request_are_freed) {
  model::NodeRequest request;
  request.node_types = {"small"};
  request.set_state(model::RequestState::fulfilled, clock_.wall_seconds());
  const std::string path =
      loop_.run(others_.create(model::request_path("200-"), to_record(request),
                               coordination::CreateMode::persistent_sequential));
  Node allocated = idle_node("main", "small");
  allocated.external_id = model::json_string("m1");
  allocated.allocated_to = std::string(coordination::base_name(path));
  const std::string id = add_node(allocated);
  worker_.start();
  pass(minutes(1));
  EXPECT_TRUE(node(id).allocated_to) << "its requestor has not taken it yet";
  request.set_state(model::RequestState::failed, clock_.wall_seconds());
  loop_.run(others_.set(path, to_record(request), coordination::kAnyVersion));
  settle();
  EXPECT_FALSE(node(id).allocated_to);
  EXPECT_EQ(node(id).state, NodeState::ready);
  EXPECT_THAT(contenders(id), IsEmpty());
}

// Another launcher of the provider may serve none of the request's pools.
TEST_F(DeletedNodeWorkerTest, a_launch_that_can_be_resumed_stays_until_its_request_is_reset) {
  model::NodeRequest request;
  request.node_types = {"small"};
  request.set_state(model::RequestState::pending, clock_.wall_seconds());
  const std::string path =
      loop_.run(others_.create(model::request_path("200-"), to_record(request),
                               coordination::CreateMode::persistent_sequential));
  Node interrupted = idle_node("main", "small");
  interrupted.external_id = model::json_string("m1");
  interrupted.allocated_to = std::string(coordination::base_name(path));
  interrupted.set_state(NodeState::building, clock_.wall_seconds());
  const std::string id = add_node(interrupted);
  worker_.start();
  pass(minutes(10));
  EXPECT_EQ(node(id).state, NodeState::building);
  EXPECT_THAT(cloud_->machines, testing::Contains("m1"));
  request.set_state(model::RequestState::requested, clock_.wall_seconds());
  loop_.run(others_.set(path, to_record(request), coordination::kAnyVersion));
  pass(minutes(1));
  EXPECT_EQ(nodes_.find(id), nullptr);
}

TEST_F(DeletedNodeWorkerTest, a_new_configuration_of_the_provider_is_tried_at_once) {
  cloud_->delete_failure = "no permission";
  const std::string id = add_used();
  worker_.start();
  pass(minutes(20));
  cloud_->delete_failure.clear();
  worker_.reevaluate_provider("sky");
  settle();
  EXPECT_EQ(nodes_.find(id), nullptr);
}

}  // namespace
}  // namespace nodepool::launcher
