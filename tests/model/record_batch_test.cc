#include "model/record_batch.h"

#include <gtest/gtest.h>

#include <string>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/path.h"
#include "model/paths.h"
#include "model/records.h"

namespace nodepool::model {
namespace {

using TableKind = Records::Kind;

class RecordBatchTest : public testing::Test {
 protected:
  RecordBatchTest() { loop_.run(records_.make_roots(Records::all())); }
  ~RecordBatchTest() override { loop_.run(scope_.stop()); }

  void follow(const Records::Kinds& kinds) {
    records_.follow(scope_, kinds);
    loop_.run(records_.until_ready());
  }

  void settle() {
    while (loop_.poll()) {
    }
  }

  std::string add_node() {
    Node node;
    node.set_state(NodeState::ready, 1);
    const std::string path = loop_.run(store_.create(
        node_path(""), to_record(node), coordination::CreateMode::persistent_sequential));
    settle();
    return std::string(coordination::base_name(path));
  }

  std::string add_request() {
    NodeRequest request;
    request.set_state(RequestState::requested, 1);
    const std::string path = loop_.run(store_.create(
        request_path("200-"), to_record(request), coordination::CreateMode::persistent_sequential));
    settle();
    return std::string(coordination::base_name(path));
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  Records records_{
      runtime_, store_,
      telemetry::Logger(telemetry::Log::to_consumer(
                            [](telemetry::LogLevel, std::string_view, std::string_view) {},
                            telemetry::LogLevel::error),
                        "test")};
  async::TaskScope scope_{runtime_, [](const std::string& task, const std::string& error) {
                            ADD_FAILURE() << task << ": " << error;
                          }};
};

TEST_F(RecordBatchTest, the_tables_know_what_was_written_before_any_event) {
  follow(Records::all());
  const std::string node_id = add_node();
  const std::string written_id = add_request();
  Node node = *records_.nodes.find(node_id);
  node.allocated_to = written_id;
  NodeRequest request = *records_.requests.find(written_id);
  request.set_state(RequestState::fulfilled, 2);
  RecordBatch batch;
  batch.write(records_.nodes, node);
  batch.transaction().check(std::string(kNodesRoot), coordination::kAnyVersion);
  batch.write(records_.requests, request, &request.stat);
  loop_.run(batch.commit(store_));
  EXPECT_EQ(request.stat, records_.requests.find(written_id)->stat);
  EXPECT_EQ(records_.nodes.find(node_id)->allocated_to, written_id);
  EXPECT_EQ(records_.nodes.find(node_id)->stat.version, 1);
  EXPECT_EQ(records_.requests.find(written_id)->state, RequestState::fulfilled);
}

TEST_F(RecordBatchTest, created_nodes_have_their_ids_after_the_commit) {
  follow(Records::all());
  Node first;
  Node second;
  first.set_state(NodeState::init, 1);
  second.set_state(NodeState::init, 2);
  RecordBatch batch;
  batch.create(records_.nodes, first);
  batch.transaction().check(std::string(kNodesRoot), coordination::kAnyVersion);
  batch.create(records_.nodes, second);
  loop_.run(batch.commit(store_));
  EXPECT_NE(first.id, second.id);
  for (const Node& node : {first, second}) {
    const Node* known = records_.nodes.find(node.id);
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->state_time, node.state_time);
    EXPECT_EQ(known->stat, node.stat);
  }
}

TEST_F(RecordBatchTest, the_response_of_a_creation_may_be_lost) {
  follow(Records::all());
  Node node;
  RecordBatch batch;
  batch.create(records_.nodes, node);
  batch.committed(RecordBatch::Results(1));
  EXPECT_EQ(node.id, "");
  EXPECT_TRUE(records_.nodes.all().empty());
}

TEST_F(RecordBatchTest, what_is_refused_leaves_the_tables_as_they_are) {
  follow(Records::all());
  const std::string id = add_node();
  const Node known = *records_.nodes.find(id);
  loop_.run(store_.set(node_path(id), to_record(known), coordination::kAnyVersion));
  Node node = known;  // of the previous version
  node.comment = "late";
  RecordBatch batch;
  batch.write(records_.nodes, node);
  EXPECT_THROW(loop_.run(batch.commit_until_known(runtime_, store_)),
               coordination::TransactionError);
  EXPECT_EQ(records_.nodes.find(id)->comment, std::nullopt);
}

TEST_F(RecordBatchTest, tables_that_are_not_followed_do_not_delay_readiness) {
  follow({TableKind::nodes});
  EXPECT_TRUE(records_.ready());
  EXPECT_FALSE(records_.images.ready());
  int times = 0;
  records_.follow(scope_, {TableKind::nodes, TableKind::images});
  EXPECT_FALSE(records_.ready()) << "images are being read";
  const coordination::Subscription subscription = records_.observe_ready([&times] { ++times; });
  loop_.run(records_.until_ready());
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace nodepool::model
