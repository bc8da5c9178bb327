// Changes of nodes with checks of other records.

#include "model/change_node.h"

#include "model/paths.h"
#include "tests/launcher/parts_fixture.h"

namespace nodepool::launcher {
namespace {

class ChangeNodeTest : public PartsFixture {
 protected:
  model::NodeChange free(const std::string& id, coordination::Transaction proof) {
    const auto change = [](model::Node& node) {
      node.allocated_to.reset();
      return true;
    };
    return loop_.run(model::change_node(runtime_, store_, nodes_, id, change, std::move(proof)));
  }
};

TEST_F(ChangeNodeTest, nothing_is_taken_from_a_request_that_has_changed) {
  model::NodeRequest request;
  request.id = "200-0000000000";
  const std::string path = model::request_path(request.id);
  loop_.run(others_.create(path, to_record(request), coordination::CreateMode::persistent));
  model::Node allocated = idle_node("main", "small");
  allocated.allocated_to = request.id;
  const std::string id = add_node(allocated);
  coordination::Transaction proof;
  proof.check(path, 0);
  request.set_state(model::RequestState::fulfilled, 1);
  loop_.run(others_.set(path, to_record(request), 0));
  EXPECT_EQ(free(id, proof), model::NodeChange::outdated);
  settle();
  EXPECT_EQ(node(id).allocated_to, request.id);
  EXPECT_FALSE(nodes_.is_locked(id));
  coordination::Transaction present;
  present.check(path, 1);
  EXPECT_EQ(free(id, present), model::NodeChange::written);
  EXPECT_EQ(node(id).allocated_to, std::nullopt);
}

// By the Python Nodepool's commands, for example.
TEST_F(ChangeNodeTest, a_record_that_was_written_without_the_lock_is_outdated) {
  const std::string id = add_node(idle_node("main", "small"));
  const auto change = [this, &id](model::Node& node) {
    node.allocated_to = "200-0000000001";
    coordination::Transaction meanwhile;
    meanwhile.set(model::node_path(id), to_record(node));
    server_.commit(others_.session_id(), meanwhile, 0);
    node.allocated_to = "200-0000000002";
    return true;
  };
  EXPECT_EQ(loop_.run(model::change_node(runtime_, store_, nodes_, id, change)),
            model::NodeChange::outdated);
  settle();
  EXPECT_EQ(node(id).allocated_to, "200-0000000001");
  EXPECT_FALSE(nodes_.is_locked(id));
}

}  // namespace
}  // namespace nodepool::launcher
