#include "requestor/lease.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "coordination/forwarding_store.h"
#include "coordination/lock.h"
#include "model/paths.h"
#include "requestor/error.h"
#include "requestor/request.h"
#include "tests/requestor/requestor_test.h"

namespace nodepool::requestor {
namespace {

using model::Lease;
using model::NodeState;
using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

constexpr const char* kHolder = "nodepool:ada@host";

// The response to the first commit that changes the record is lost; the server of the next
// connection shows the record from before it once.
class StaleAfterLostCommit final : public coordination::ForwardingStore {
 public:
  StaleAfterLostCommit(Store& store, std::string path, coordination::Entry before)
      : ForwardingStore(store), path_(std::move(path)), before_(std::move(before)) {}

  Task<std::vector<coordination::OperationResult>> commit(
      coordination::Transaction transaction) override {
    Task<std::vector<coordination::OperationResult>> committing =
        ForwardingStore::commit(std::move(transaction));
    std::vector<coordination::OperationResult> results = co_await std::move(committing);
    if (is_lost_) co_return results;
    Task<coordination::Entry> reading = ForwardingStore::get(path_);
    const coordination::Entry now = co_await std::move(reading);
    if (now.stat.version == before_->stat.version) co_return results;
    is_lost_ = true;
    throw coordination::store_error(coordination::StoreError::Kind::unknown_outcome, path_);
  }
  Task<coordination::Entry> get(std::string path) override {
    if (is_lost_ && before_ && path == path_) {
      coordination::Entry stale = *std::exchange(before_, std::nullopt);
      co_return stale;
    }
    Task<coordination::Entry> reading = ForwardingStore::get(std::move(path));
    co_return co_await std::move(reading);
  }

 private:
  std::string path_;
  std::optional<coordination::Entry> before_;
  bool is_lost_ = false;
};

class LeaseTest : public RequestorTest {
 protected:
  model::NodeRequest fulfilled(std::vector<std::string> labels) {
    const std::string id = run(create_request(runtime_, *store_, {std::move(labels), kHolder}));
    Result answer = run(await_result(runtime_, *store_, id, clock_.now() + minutes(10), nullptr));
    EXPECT_EQ(answer.kind, Result::Kind::fulfilled);
    return std::move(answer.request);
  }
  Task<LeasedNodes> accepting(model::NodeRequest request) {
    return accept_with_lease(runtime_, *store_, std::move(request),
                             {.duration = hours(2), .holder = kHolder});
  }
  LeasedNodes lease(std::vector<std::string> labels) {
    return run(accepting(fulfilled(std::move(labels))));
  }
  // Accepts the nodes until the lease is in leased_, or what was thrown in failure_.
  void accept(model::NodeRequest request) {
    auto accept = [](Task<LeasedNodes> task, std::optional<LeasedNodes>& leased,
                     std::optional<coordination::StoreError>& failure) -> Task<> {
      try {
        leased = co_await std::move(task);
      } catch (const coordination::StoreError& error) {
        failure = error;
      }
    };
    scope_.spawn("accept", accept(accepting(std::move(request)), leased_, failure_));
    settle();
  }
  // Why the task fails.
  template <typename T>
  std::string refusal(Task<T> task) {
    try {
      run(std::move(task));
    } catch (const RequestError& error) {
      return error.what();
    }
    return "not refused";
  }
  void change(const std::string& id, const std::function<void(model::Node&)>& how) {
    model::Node node = run(launcher_.node(id));
    how(node);
    run(launcher_store_.set(model::node_path(id), to_record(node), coordination::kAnyVersion));
  }

  std::optional<LeasedNodes> leased_;
  std::optional<coordination::StoreError> failure_;
};

TEST_F(LeaseTest, leased_nodes_stay_in_use_and_locked_after_the_session) {
  const LeasedNodes leased = lease({"small", "large"});
  EXPECT_EQ(leased.lease, (Lease{"200-0000000000", clock_.wall_seconds() + 7200, kHolder}));
  ASSERT_EQ(leased.nodes.size(), 2U);
  EXPECT_THAT(leased.nodes[0].type, ElementsAre("small"));
  EXPECT_THAT(leased.nodes[1].type, ElementsAre("large"));
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  store_->kill_for_tests();
  for (const model::Node& expected : leased.nodes) {
    const model::Node node = run(launcher_.node(expected.id));
    EXPECT_EQ(node.state, NodeState::in_use);
    // The node's own part: what it was asked for as, and where.
    Lease of_node = leased.lease;
    of_node.label = expected.type.front();
    of_node.index = expected.id == leased.nodes.front().id ? 0 : 1;
    EXPECT_EQ(lease_of(node), of_node);
    EXPECT_THAT(run(launcher_.lock_line(node.id)), ElementsAre("lease 200-0000000000"));
  }
}

TEST_F(LeaseTest, nodes_of_others_are_refused_and_the_request_is_gone) {
  model::NodeRequest request = fulfilled({"small", "large"});
  change(request.nodes[1], [](model::Node& node) { node.allocated_to = "200-0000000099"; });
  EXPECT_EQ(refusal(accepting(request)),
            "node 0000000001 is ready and allocated to 200-0000000099");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  EXPECT_THAT(run(launcher_.lock_line(request.nodes[0])), IsEmpty());
  EXPECT_THAT(run(launcher_.lock_line(request.nodes[1])), IsEmpty());
  EXPECT_EQ(run(launcher_.node(request.nodes[0])).state, NodeState::ready);
}

TEST_F(LeaseTest, a_node_that_is_locked_for_a_moment_is_waited_for) {
  model::NodeRequest request = fulfilled({"small"});
  coordination::Lock lock(launcher_store_, random_, model::node_lock_path(request.nodes[0]));
  EXPECT_TRUE(run(lock.try_acquire()));
  std::optional<LeasedNodes> leased;
  auto accept = [](Task<LeasedNodes> task, std::optional<LeasedNodes>& out) -> Task<> {
    out = co_await std::move(task);
  };
  scope_.spawn("accept", accept(accepting(request), leased));
  settle();
  clock_.advance_by(minutes(0) + std::chrono::seconds(1));
  settle();
  EXPECT_FALSE(leased);
  run(lock.release());
  clock_.advance_by(std::chrono::seconds(1));
  settle();
  EXPECT_TRUE(leased);
}

TEST_F(LeaseTest, a_node_that_stays_locked_is_refused) {
  model::NodeRequest request = fulfilled({"small"});
  coordination::Lock lock(launcher_store_, random_, model::node_lock_path(request.nodes[0]));
  EXPECT_TRUE(run(lock.try_acquire()));
  std::string error;
  auto accept = [](Task<LeasedNodes> task, std::string& out) -> Task<> {
    try {
      co_await std::move(task);
    } catch (const RequestError& thrown) {
      out = thrown.what();
    }
  };
  scope_.spawn("accept", accept(accepting(request), error));
  for (int i = 0; i < 200 && error.empty(); ++i) {
    settle();
    clock_.advance_by(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(error, "node 0000000000 is locked by another process");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(LeaseTest, a_lost_answer_does_not_lose_the_nodes) {
  model::NodeRequest request = fulfilled({"small"});
  lose_answer_about(model::request_path(request.id));  // removed with the last step
  const LeasedNodes leased = run(accepting(request));
  EXPECT_EQ(leased.lease.id, request.id);
  EXPECT_THAT(run(launcher_.lock_line(request.nodes[0])), ElementsAre("lease 200-0000000000"));
}

TEST_F(LeaseTest, a_lease_is_found_that_another_server_does_not_show_yet) {
  model::NodeRequest request = fulfilled({"small"});
  const std::string path = model::node_path(request.nodes[0]);
  StaleAfterLostCommit store(*store_, path, run(store_->get(path)));
  const LeasedNodes leased =
      run(accept_with_lease(runtime_, store, request, {.duration = hours(2), .holder = kHolder}));
  EXPECT_EQ(leased.lease.id, request.id);
  EXPECT_THAT(run(launcher_.lock_line(request.nodes[0])), ElementsAre("lease 200-0000000000"));
}

TEST_F(LeaseTest, a_lease_is_found_in_the_session_after_the_one_that_made_it) {
  model::NodeRequest request = fulfilled({"small"});
  lose_answer_about(model::request_path(request.id), /*is_back_at_once=*/false);
  accept(request);
  server_.end_session(store_->session_id());
  EXPECT_FALSE(leased_ || failure_);
  store_->resume_for_tests();
  settle();
  ASSERT_TRUE(leased_);
  EXPECT_EQ(leased_->lease.id, request.id);
  EXPECT_THAT(run(launcher_.lock_line(request.nodes[0])), ElementsAre("lease 200-0000000000"));
}

TEST_F(LeaseTest, a_lease_that_stays_unknown_is_named) {
  model::NodeRequest request = fulfilled({"small"});
  lose_answer_about(model::request_path(request.id), /*is_back_at_once=*/false);
  accept(request);
  for (int second = 0; second < 59; ++second) {
    clock_.advance_by(std::chrono::seconds(1));
    settle();
  }
  EXPECT_FALSE(failure_);
  clock_.advance_by(std::chrono::seconds(1));
  settle();
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->kind(), coordination::StoreError::Kind::unknown_outcome);
  EXPECT_THAT(failure_->what(), EndsWith(": the nodes may be leased as 200-0000000000"));
}

TEST_F(LeaseTest, a_lease_that_is_unknown_at_an_interruption_is_named) {
  model::NodeRequest request = fulfilled({"small"});
  lose_answer_about(model::request_path(request.id), /*is_back_at_once=*/false);
  accept(request);
  run(scope_.stop());
  ASSERT_TRUE(failure_);
  EXPECT_THAT(failure_->what(), EndsWith(": the nodes may be leased as 200-0000000000"));
}

TEST_F(LeaseTest, a_requestor_that_dies_while_accepting_leaves_nothing_behind) {
  const model::NodeRequest request = fulfilled({"small"});
  // The requestor's process, on a loop of its own.
  auto loop = std::make_unique<async::EventLoop>();
  const async::Runtime runtime{loop->executor(), clock_, random_};
  auto store = std::make_unique<coordination::MemoryStore>(server_, runtime);
  async::TaskScope scope(runtime, [](const std::string&, const std::string&) {});
  auto accept = [](async::Runtime runtime, coordination::Store& store,
                   model::NodeRequest request) -> Task<> {
    co_await accept_with_lease(runtime, store, std::move(request),
                               {.duration = hours(2), .holder = kHolder});
  };
  const std::string contenders = model::node_lock_path(request.nodes[0]) + "/";
  const auto listener = [&](const std::vector<coordination::WatchEvent>& events) {
    const bool locked = std::ranges::any_of(
        events, [&](const auto& event) { return event.path.starts_with(contenders); });
    if (locked) boost::asio::post(runtime.executor, [&] { store->kill_for_tests(); });
  };
  const std::int64_t listening = server_.open_session(listener);
  scope.spawn("accept", accept(runtime, *store, request));
  while (loop->poll()) {
  }
  server_.end_session(listening);
  store.reset();
  loop.reset();
  EXPECT_THAT(run(launcher_.lock_line(request.nodes[0])), IsEmpty());
  EXPECT_EQ(run(launcher_.node(request.nodes[0])).state, NodeState::ready);
}

TEST_F(LeaseTest, leases_are_listed_with_their_nodes) {
  lease({"small", "large"});
  lease({"small"});
  fulfilled({"small"});
  const std::vector<LeasedNodes> all = leases(node_table());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].lease.id, "200-0000000000");
  EXPECT_EQ(all[0].nodes.size(), 2U);
  EXPECT_EQ(all[1].lease.holder, kHolder);
}

TEST_F(LeaseTest, renewals_add_up_to_no_more_than_is_allowed) {
  const LeasedNodes leased = lease({"small", "large"});
  const double begun = clock_.wall_seconds();
  clock_.advance_by(hours(1));
  const Lease renewed =
      run(renew_lease(runtime_, *store_, node_table(), leased.lease.id, hours(2), hours(2)));
  EXPECT_DOUBLE_EQ(renewed.expires, begun + 7200);
}

TEST_F(LeaseTest, renewing_moves_the_end_of_all_nodes) {
  const LeasedNodes leased = lease({"small", "large"});
  clock_.advance_by(hours(1));
  const Lease renewed =
      run(renew_lease(runtime_, *store_, node_table(), leased.lease.id, hours(2)));
  EXPECT_EQ(renewed.id, "200-0000000000");
  EXPECT_DOUBLE_EQ(renewed.expires, clock_.wall_seconds() + 7200);
  for (const model::Node& node : leased.nodes) {
    const model::Node now = run(launcher_.node(node.id));
    Lease moved = *lease_of(node);
    moved.expires = renewed.expires;
    EXPECT_EQ(lease_of(now), moved);
    EXPECT_DOUBLE_EQ(now.state_time, node.state_time);
  }
}

TEST_F(LeaseTest, what_is_not_leased_cannot_be_renewed_or_released) {
  const model::NodeRequest request = fulfilled({"small"});
  const model::NodeTable& nodes = node_table();
  EXPECT_EQ(refusal(renew_lease(runtime_, *store_, nodes, request.id, hours(1))),
            "there is no lease 200-0000000000: it has expired, or has been released");
  EXPECT_EQ(refusal(release_lease(runtime_, *store_, nodes, "200-0000000077")),
            "there is no lease 200-0000000077: it has expired, or has been released");
  EXPECT_EQ(refusal(release_lease(runtime_, *store_, nodes, request.nodes[0])),
            "node 0000000000 is not leased");
}

TEST_F(LeaseTest, releasing_returns_all_nodes) {
  const LeasedNodes leased = lease({"small", "large"});
  EXPECT_THAT(run(release_lease(runtime_, *store_, node_table(), leased.lease.id)),
              ElementsAre("0000000000", "0000000001"));
  for (const model::Node& node : leased.nodes) {
    EXPECT_EQ(run(launcher_.node(node.id)).state, NodeState::used);
    EXPECT_THAT(run(launcher_.lock_line(node.id)), IsEmpty());
  }
  EXPECT_EQ(refusal(release_lease(runtime_, *store_, node_table(), leased.lease.id)),
            "there is no lease 200-0000000000: it has expired, or has been released");
}

TEST_F(LeaseTest, a_single_node_can_be_released_and_the_rest_goes_on) {
  const LeasedNodes leased = lease({"small", "large"});
  EXPECT_THAT(run(release_lease(runtime_, *store_, node_table(), "0000000001")),
              ElementsAre("0000000001"));
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::in_use);
  EXPECT_EQ(run(launcher_.node("0000000001")).state, NodeState::used);
  run(renew_lease(runtime_, *store_, node_table(), leased.lease.id, hours(3)));
  EXPECT_THAT(run(release_lease(runtime_, *store_, node_table(), leased.lease.id)),
              ElementsAre("0000000000"));
}

TEST_F(LeaseTest, releasing_keeps_other_contenders) {
  const LeasedNodes leased = lease({"small"});
  run(launcher_store_.create(model::node_lock_path("0000000000") + "/abc__lock__", "operator",
                             coordination::CreateMode::ephemeral_sequential));
  run(release_lease(runtime_, *store_, node_table(), leased.lease.id));
  EXPECT_THAT(run(launcher_.lock_line("0000000000")), ElementsAre("operator"));
}

TEST_F(LeaseTest, a_lost_answer_to_a_release_is_no_failure) {
  const LeasedNodes leased = lease({"small"});
  const model::NodeTable& nodes = node_table();
  lose_answer_about(model::node_path("0000000000"));
  EXPECT_THAT(run(release_lease(runtime_, *store_, nodes, leased.lease.id)),
              ElementsAre("0000000000"));
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
}

TEST_F(LeaseTest, a_lost_response_to_a_release_leaves_its_outcome_unknown_in_an_outage) {
  const LeasedNodes leased = lease({"small"});
  const model::NodeTable& nodes = node_table();
  lose_answer_about(model::node_path("0000000000"), /*is_back_at_once=*/false);
  EXPECT_EQ(store_failure(release_lease(runtime_, *store_, nodes, leased.lease.id)),
            coordination::StoreError::Kind::unknown_outcome);
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
}

TEST_F(LeaseTest, a_release_that_an_outage_interrupts_does_not_deny_its_first_part) {
  const LeasedNodes leased = lease({"small", "large"});
  StoreLostAfterCommit lost(*store_);
  EXPECT_EQ(store_failure(release_lease(runtime_, lost, node_table(), leased.lease.id)),
            coordination::StoreError::Kind::unknown_outcome);
  EXPECT_EQ(run(launcher_.node("0000000000")).state, NodeState::used);
  EXPECT_EQ(run(launcher_.node("0000000001")).state, NodeState::in_use);
}

}  // namespace
}  // namespace nodepool::requestor
