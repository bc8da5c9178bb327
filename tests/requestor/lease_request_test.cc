#include "requestor/lease_request.h"

#include <gmock/gmock.h>

#include "coordination/forwarding_store.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "tests/requestor/requestor_test.h"

namespace nodepool::requestor {
namespace {

using coordination::StoreError;
using model::RequestState;
using testing::ElementsAre;
using testing::IsEmpty;

// A store that refuses a transaction with the records of more than one node, as ZooKeeper refuses
// one of more than a megabyte.
class SmallStore final : public coordination::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Task<std::vector<coordination::OperationResult>> commit(
      coordination::Transaction transaction) override {
    int records = 0;
    for (const coordination::Transaction::Operation& operation : transaction.operations()) {
      if (operation.kind == coordination::Transaction::Kind::set) ++records;
    }
    if (records > 1) {
      throw coordination::store_error(StoreError::Kind::too_large,
                                      transaction.operations().front().path);
    }
    co_return co_await ForwardingStore::commit(std::move(transaction));
  }
};

class LeaseRequestTest : public RequestorTest {
 protected:
  LeaseRequestTest() {
    run(coordination::ensure_path(*store_, std::string(model::kRequestLocksRoot)));
    launcher_.adorn = [](model::Node& node, std::size_t) { node.launcher = "pool-1"; };
  }

  Task<std::optional<model::NodeRequest>> creating(coordination::Store& store,
                                                   std::vector<std::string> labels) {
    NodeRequestSpec spec{std::move(labels), "ada"};
    model::LeaseRequest terms{.owner = "gitlab",
                              .holder = "job 17",
                              .lease = 7200,
                              .expires = clock_.wall_seconds() + 3600};
    return create_lease_request(runtime_, store, std::move(spec), std::move(terms));
  }
  // The id of a lease request that is fulfilled.
  std::string fulfilled(std::vector<std::string> labels) {
    const std::optional<model::NodeRequest> request = run(creating(*store_, std::move(labels)));
    settle();
    return request->id;
  }
  std::optional<LeasedNodes> serve(const std::string& id) {
    return run(serve_lease_request(runtime_, small_, id));
  }
  model::NodeRequest request(const std::string& id) {
    return model::parse_node_request(id, run(store_->get(model::request_path(id))));
  }

  SmallStore small_{*store_};
};

TEST_F(LeaseRequestTest, a_fulfilled_request_becomes_a_lease) {
  const std::string id = fulfilled({"small"});
  const std::optional<LeasedNodes> leased = serve(id);
  ASSERT_TRUE(leased);
  EXPECT_EQ(leased->lease.id, id);
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_F(LeaseRequestTest, a_lost_response_to_a_creation_leaves_its_outcome_unknown_in_an_outage) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  lose_answer_about(model::request_path("200-0000000000"), /*is_back_at_once=*/false);
  EXPECT_EQ(store_failure(creating(*store_, {"small"})), StoreError::Kind::unknown_outcome);
  EXPECT_THAT(run(launcher_.requests()), ElementsAre("200-0000000000"));
}

TEST_F(LeaseRequestTest, a_created_request_need_not_be_readable) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  StoreLostAfterCommit lost(*store_);
  const std::optional<model::NodeRequest> created = run(creating(lost, {"small"}));
  ASSERT_TRUE(created);
  EXPECT_EQ(created->id, "200-0000000000");
}

TEST_F(LeaseRequestTest, a_request_with_too_many_nodes_for_one_lease_fails_for_good) {
  const std::string id = fulfilled({"small", "large"});
  ASSERT_EQ(request(id).state, RequestState::fulfilled);
  EXPECT_FALSE(serve(id));
  const model::NodeRequest failed = request(id);
  EXPECT_EQ(failed.state, RequestState::failed);
  EXPECT_THAT(failed.nodes, IsEmpty()) << "the launchers free them";
  EXPECT_THAT(failed.declined_by, ElementsAre("pool-1"));
  EXPECT_EQ(failed.decline_reasons.at("pool-1"), "the request has too many nodes for one lease");
  for (const char* node : {"0000000000", "0000000001"}) {
    EXPECT_THAT(run(launcher_.lock_line(node)), IsEmpty());
    EXPECT_EQ(run(launcher_.node(node)).state, model::NodeState::ready);
  }
  EXPECT_FALSE(serve(id));
  EXPECT_EQ(request(id).state, RequestState::failed);
}

}  // namespace
}  // namespace nodepool::requestor
