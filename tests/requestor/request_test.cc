#include "requestor/request.h"

#include <gmock/gmock.h>

#include "coordination/lock_sweeper.h"
#include "model/paths.h"
#include "requestor/error.h"
#include "tests/requestor/requestor_test.h"

namespace nodepool::requestor {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A store that requests cannot reach on demand.
class StoreAway final : public coordination::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Task<std::string> create(std::string path, std::string data,
                           coordination::CreateMode mode) override {
    using Kind = coordination::StoreError::Kind;
    if (is_away) throw coordination::store_error(Kind::disconnected, path);
    return ForwardingStore::create(std::move(path), std::move(data), mode);
  }

  bool is_away = false;
};

// A store that counts the reads of records.
class CountedReads final : public coordination::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Task<coordination::Entry> get(std::string path) override {
    ++reads;
    return ForwardingStore::get(std::move(path));
  }

  int reads = 0;
};

class RequestTest : public RequestorTest {
 protected:
  std::string ask_for(std::vector<std::string> labels) {
    return run(create_request(runtime_, *store_, {std::move(labels), "nodepool:ada@host"}));
  }
  Task<Result> answer_to(std::string id) {
    return await_result(runtime_, *store_, std::move(id), clock_.now() + minutes(10),
                        [this](const model::NodeRequest& request) {
                          seen_.emplace_back(to_string(request.state));
                        });
  }
  // Requests nodes until the answer is in answer_.
  void request(coordination::Store& store) {
    auto requestor = [](Task<Result> requesting, std::optional<Result>& answer) -> Task<> {
      answer = co_await std::move(requesting);
    };
    Task<Result> requesting = request_nodes(runtime_, store, {{"small"}, "nodepool:ada@host"},
                                            clock_.now() + minutes(10), nullptr);
    scope_.spawn("requestor", requestor(std::move(requesting), answer_));
    settle();
  }

  std::vector<std::string> seen_;
  std::optional<Result> answer_;
};

TEST_F(RequestTest, the_record_has_every_key_that_zuul_expects) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const std::string id = ask_for({"small", "large"});
  EXPECT_EQ(id, "200-0000000000");
  const coordination::Entry entry = run(store_->get(model::request_path(id)));
  EXPECT_EQ(entry.stat.ephemeral_owner, store_->session_id());
  const model::NodeRequest request = model::parse_node_request(id, entry);
  ASSERT_TRUE(request.event_id);
  EXPECT_EQ(entry.data, R"({"state": "requested", "state_time": 1700000000.0, "declined_by": [], )"
                        R"("node_types": ["small", "large"], "nodes": [], "reuse": true, )"
                        R"("requestor": "nodepool:ada@host", "requestor_data": null, )"
                        R"("provider": null, "relative_priority": 0, "event_id": ")" +
                            *request.event_id +
                            R"(", "created_time": 1700000000.0, "tenant_name": null})");
}

TEST_F(RequestTest, a_fulfilled_request_stays_for_being_accepted) {
  const std::string id = ask_for({"small", "large"});
  const Result answer = run(answer_to(id));
  EXPECT_EQ(answer.kind, Result::Kind::fulfilled);
  EXPECT_THAT(answer.request.nodes, ElementsAre("0000000000", "0000000001"));
  EXPECT_EQ(seen_.back(), "fulfilled");
  EXPECT_THAT(run(launcher_.requests()), ElementsAre(id));
}

TEST_F(RequestTest, a_failed_request_is_withdrawn_and_names_the_declining_pools) {
  launcher_.react(LauncherDouble::Reaction::decline);
  const std::string pool = run(launcher_.add_pool("rack", {"small"}));
  const Result answer = run(answer_to(ask_for({"small"})));
  EXPECT_EQ(answer.kind, Result::Kind::failed);
  EXPECT_THAT(answer.request.declined_by, ElementsAre(pool));
  EXPECT_EQ(answer.request.decline_reasons.at(pool), "it would exceed quota");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RequestTest, a_request_is_withdrawn_at_its_timeout) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  std::optional<Result::Kind> kind;
  auto requestor = [](Task<Result> answer, std::optional<Result::Kind>& out) -> Task<> {
    const Result got = co_await std::move(answer);
    out = got.kind;
  };
  scope_.spawn("requestor", requestor(answer_to(ask_for({"small"})), kind));
  settle();
  EXPECT_THAT(seen_, ElementsAre("requested"));
  EXPECT_FALSE(kind);
  clock_.advance_by(minutes(10));
  settle();
  EXPECT_EQ(kind, Result::Kind::timed_out);
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RequestTest, a_request_is_withdrawn_when_its_requestor_is_cancelled) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  auto requestor = [](Task<Result> answer) -> Task<> { co_await std::move(answer); };
  scope_.spawn("requestor", requestor(answer_to(ask_for({"small"}))));
  settle();
  run(scope_.stop());
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(RequestTest, a_removed_request_is_an_error) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  std::string error;
  auto requestor = [](Task<Result> answer, std::string& out) -> Task<> {
    try {
      co_await std::move(answer);
    } catch (const RequestError& thrown) {
      out = thrown.what();
    }
  };
  const std::string id = ask_for({"small"});
  scope_.spawn("requestor", requestor(answer_to(id), error));
  settle();
  run(launcher_store_.remove(model::request_path(id), coordination::kAnyVersion));
  settle();
  EXPECT_EQ(error, "request 200-0000000000 was removed by another client");
}

TEST_F(RequestTest, a_request_that_ended_with_its_session_is_no_removed_one) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  std::string error;
  auto requestor = [](Task<Result> answer, std::string& out) -> Task<> {
    try {
      co_await std::move(answer);
    } catch (const RequestLost& thrown) {
      out = thrown.what();
    }
  };
  scope_.spawn("requestor", requestor(answer_to(ask_for({"small"})), error));
  settle();
  store_->expire_for_tests();
  settle();
  EXPECT_EQ(error, "request 200-0000000000 has ended with its session");
}

TEST_F(RequestTest, a_request_that_ended_with_its_session_is_created_again) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  request(*store_);
  EXPECT_THAT(run(launcher_.requests()), ElementsAre("200-0000000000"));
  store_->expire_for_tests();
  settle();
  const std::vector<std::string> again = run(launcher_.requests());
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_NE(again.front(), "200-0000000000");
  run(launcher_.fulfil_now(again.front()));
  settle();
  ASSERT_TRUE(answer_);
  EXPECT_EQ(answer_->kind, Result::Kind::fulfilled);
  EXPECT_EQ(answer_->request.id, again.front());
}

TEST_F(RequestTest, another_creation_waits_for_the_store) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  StoreAway store(*store_);
  request(store);
  store.is_away = true;
  store_->expire_for_tests();
  settle();
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
  store.is_away = false;
  clock_.advance_by(std::chrono::seconds(1));
  settle();
  EXPECT_THAT(run(launcher_.requests()), SizeIs(1));
  clock_.advance_by(minutes(10));
  settle();
  ASSERT_TRUE(answer_);
  EXPECT_EQ(answer_->kind, Result::Kind::timed_out);
}

TEST_F(RequestTest, a_disconnection_does_not_end_the_wait) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  const std::string id = ask_for({"small"});
  std::optional<Result::Kind> kind;
  auto requestor = [](Task<Result> answer, std::optional<Result::Kind>& out) -> Task<> {
    const Result got = co_await std::move(answer);
    out = got.kind;
  };
  scope_.spawn("requestor", requestor(answer_to(id), kind));
  settle();
  store_->suspend_for_tests();
  settle();
  model::NodeRequest request =
      model::parse_node_request(id, run(launcher_store_.get(model::request_path(id))));
  request.set_state(model::RequestState::failed, clock_.wall_seconds());
  run(launcher_store_.set(model::request_path(id), to_record(request), coordination::kAnyVersion));
  settle();
  EXPECT_FALSE(kind);
  store_->resume_for_tests();
  settle();
  EXPECT_EQ(kind, Result::Kind::failed);
}

TEST_F(RequestTest, a_create_without_an_answer_is_not_repeated) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  ask_for({"other"});
  lose_answer_about(model::request_path("200-0000000001"));
  EXPECT_EQ(ask_for({"small"}), "200-0000000001");
  EXPECT_THAT(run(launcher_.requests()), ElementsAre("200-0000000000", "200-0000000001"));
}

TEST_F(RequestTest, a_create_without_a_response_is_found_among_the_newest_requests) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  for (int i = 0; i < 5; ++i) ask_for({"other"});
  CountedReads store(*store_);
  lose_answer_about(model::request_path("200-0000000005"));
  EXPECT_EQ(run(create_request(runtime_, store, {{"small"}, "nodepool:ada@host"})),
            "200-0000000005");
  EXPECT_EQ(store.reads, 1);
}

TEST_F(RequestTest, a_create_without_a_response_is_found_when_the_store_is_back) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  lose_answer_about(model::request_path("200-0000000000"), /*is_back_at_once=*/false);
  std::string id;
  auto requestor = [](Task<std::string> asking, std::string& out) -> Task<> {
    out = co_await std::move(asking);
  };
  scope_.spawn("requestor",
               requestor(create_request(runtime_, *store_, {{"small"}, "nodepool:ada@host"}), id));
  settle();
  EXPECT_EQ(id, "");
  store_->resume_for_tests();
  settle();
  EXPECT_EQ(id, "200-0000000000");
  EXPECT_THAT(run(launcher_.requests()), ElementsAre(id));
}

TEST_F(RequestTest, what_cannot_be_withdrawn_now_is_withdrawn_when_the_store_is_back) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  coordination::LockSweeper sweeper(runtime_, *store_);
  const std::string id = ask_for({"small"});
  ask_for({"other"});
  store_->suspend_for_tests();
  run(withdraw(*store_, id));
  EXPECT_THAT(run(launcher_.requests()), SizeIs(2));
  store_->resume_for_tests();
  settle();
  EXPECT_THAT(run(launcher_.requests()), ElementsAre("200-0000000001"));
  run(sweeper.stop());
}

}  // namespace
}  // namespace nodepool::requestor
