// Small nodes, and the backing nodes that they are on.

#include "model/node_request.h"
#include "tests/drivers/metastatic/metastatic_fixture.h"

namespace nodepool::drivers::metastatic {
namespace {

using model::Node;
using model::NodeState;
using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;
using testing::SizeIs;

TEST_F(MetastaticTest, a_node_is_used_as_its_backing_node_is) {
  const Node node = launch();
  const Node on = backing();
  EXPECT_EQ(node.external_id_text(), node.id);
  EXPECT_EQ(node.interface_ip, "192.0.2.7");
  EXPECT_EQ(node.public_ipv4, "192.0.2.7");
  EXPECT_EQ(node.private_ipv4, "10.0.0.7");
  EXPECT_EQ(node.public_ipv6, "2001:db8::7");
  EXPECT_EQ(node.az, "az1");
  EXPECT_EQ(node.region, "north");
  EXPECT_EQ(node.cloud, "sky-cloud");
  EXPECT_FALSE(node.host_id);
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(node.python_path, "/usr/bin/python3");
  EXPECT_EQ(node.shell_type, "sh");
  EXPECT_EQ(node.connection_type, "ssh");
  EXPECT_EQ(node.connection_port.text, "2222");
  EXPECT_THAT(node.host_keys, ElementsAre("ssh-ed25519 AAAA"));
  EXPECT_EQ(node.attributes.text, R"({"executor-zone": "b", "team": "a"})");
  EXPECT_EQ(node.image_id, "unused");
  EXPECT_EQ(node.resources.text, R"({"cores": 0, "instances": 1, "ram": 0})");
  EXPECT_EQ(node.node_properties.text, "{}");
  EXPECT_EQ(node.slot, 0);
  EXPECT_THAT(node.driver_data.text,
              HasSubstr(R"("backing_node": ")" + on.id + R"(", "slot": 0, "node": ")" + node.id));
}

TEST_F(MetastaticTest, a_backing_node_is_held_by_a_lock_that_outlives_the_launcher) {
  launch();
  process_.reset();
  const Node on = backing();
  EXPECT_EQ(on.state, NodeState::in_use);
  EXPECT_THAT(launchers_.lock_holders(on.id), ElementsAre("NodePool:metastatic:shares"));
  EXPECT_THAT(on.user_data.string_value(),
              testing::StartsWith(
                  R"({"owner": "NodePool:metastatic:shares", "label": "small", "slots": 2, )"
                  R"("failed": false, "launched": )"));
  EXPECT_THAT(launchers_.requests(), IsEmpty());
}

TEST_F(MetastaticTest, nodes_share_backing_nodes_slot_by_slot) {
  start();
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(add_node());
  std::vector<JobPointer> jobs;
  for (const std::string& id : ids) jobs.push_back(begin(id));
  process_->settle();
  EXPECT_THAT(launchers_.requests(), SizeIs(3)) << "room for six";
  for (const JobPointer& job : jobs) finish(job);
  ASSERT_THAT(launchers_.nodes(), SizeIs(3));
  reclaim(ids.at(0));
  launch();
  EXPECT_THAT(launchers_.nodes(), SizeIs(3)) << "the free slots are enough";
  launch();
  launch();
  EXPECT_THAT(launchers_.nodes(), SizeIs(4));
}

TEST_F(MetastaticTest, the_request_names_its_provider_and_its_node) {
  start();
  launchers_.boot_time = hours(1);
  begin(add_node());
  process_->settle();
  ASSERT_THAT(launchers_.requests(), SizeIs(1));
  EXPECT_THAT(launchers_.requests().at(0), testing::StartsWith("100-"));
  const model::NodeRequest request = launchers_.request(launchers_.requests().at(0));
  EXPECT_EQ(request.requestor, "NodePool:metastatic:shares");
  EXPECT_THAT(request.node_types, ElementsAre("big"));
  EXPECT_FALSE(request.tenant_name);
  EXPECT_NE(request.stat.ephemeral_owner, 0);
  EXPECT_EQ(request.requestor_data.text,
            R"({"backs": {"provider": "shares", "label": "small", "node": "0000000000"}})");
}

TEST_F(MetastaticTest, labels_have_backing_nodes_of_their_own) {
  more_labels = "          - {name: tiny, backing-label: big, max-parallel-jobs: 2}\n";
  launch("small");
  launch("tiny");
  EXPECT_THAT(launchers_.nodes(), SizeIs(2));
}

TEST_F(MetastaticTest, a_freed_slot_serves_the_waiting_launch) {
  rules = "max-parallel-jobs: 1";
  const Node first = launch();
  launchers_.boot_time = hours(1);
  const auto job = begin(add_node());
  process_->pass(minutes(1));
  EXPECT_FALSE(job->ended);
  reclaim(first.id);
  finish(job);
  EXPECT_THAT(launchers_.nodes(), SizeIs(1));
  EXPECT_THAT(launchers_.requests(), SizeIs(1));
  pass_minutes(2);
  EXPECT_THAT(launchers_.requests(), IsEmpty()) << "no launch waits for it";
}

TEST_F(MetastaticTest, only_as_many_launches_take_slots_as_are_free) {
  rules = "max-parallel-jobs: 10";
  reclaim(launch().id);
  launchers_.boot_time = hours(1);
  std::vector<std::string> ids;
  for (int i = 0; i < 11; ++i) ids.push_back(add_node());
  std::vector<JobPointer> jobs;
  for (const std::string& id : ids) jobs.push_back(begin(id));
  while (launchers_.requests().empty()) ASSERT_TRUE(process_->step());
  EXPECT_THAT(record().tenants, SizeIs(testing::Lt(10U))) << "the last one waits for no other";
  installation_.write(installation_.node(ids.at(9)));
  for (const JobPointer& job : jobs) process_->run_until_ended(*job);
  EXPECT_THAT(jobs.at(9)->failure(), HasSubstr("another launcher has the node"));
  EXPECT_EQ(jobs.at(10)->failure(), "");
  EXPECT_THAT(record().tenants, SizeIs(10)) << "the last one has got the slot";
}

// --- what goes wrong with backing nodes

TEST_F(MetastaticTest, a_failed_request_fails_all_its_waiters) {
  launchers_.to_be_failed = 100;
  const std::string failure = failure_of_launch();
  EXPECT_THAT(failure, HasSubstr("backing request 100-"));
  EXPECT_THAT(failure, HasSubstr("for label big failed: the launch failed"));
  EXPECT_EQ(launchers_.to_be_failed, 97) << "three attempts";
  EXPECT_THAT(launchers_.requests(), IsEmpty()) << "what has failed is removed";
}

TEST_F(MetastaticTest, a_removed_request_is_created_again) {
  start();
  launchers_.boot_time = minutes(5);
  const auto job = begin(add_node());
  process_->settle();
  launchers_.remove_request(launchers_.requests().at(0));
  finish(job);
  EXPECT_THAT(launchers_.nodes(), SizeIs(1));
}

TEST_F(MetastaticTest, a_session_that_is_lost_takes_the_request_along_and_not_the_node) {
  const Node node = launch();
  launch();
  launchers_.boot_time = minutes(5);
  const auto job = begin(add_node());
  process_->settle();
  const std::string request = launchers_.requests().at(0);
  process_->lose_session();
  finish(job);
  EXPECT_THAT(launchers_.nodes(), SizeIs(2));
  for (const Node& on : launchers_.nodes()) EXPECT_EQ(on.state, NodeState::in_use);
  EXPECT_THAT(launchers_.requests(), IsEmpty());
}

TEST_F(MetastaticTest, nodes_on_a_backing_node_that_is_lost_are_not_handed_out) {
  const Node node = launch();
  process_->pass(std::chrono::seconds(3));
  EXPECT_TRUE(process_->run(process_->provider().is_usable(node.id)));
  launchers_.lose(backing().id);
  process_->settle();
  EXPECT_FALSE(process_->run(process_->provider().is_usable(node.id)));
  launch();
  EXPECT_THAT(launchers_.nodes(), SizeIs(1));
  reclaim(node.id);
}

TEST_F(MetastaticTest, a_backing_node_that_lost_its_lock_gets_no_more_nodes) {
  const std::string first = launch().id;
  const std::string lost = backing().id;
  launchers_.unlock(lost);
  launch();
  EXPECT_THAT(launchers_.nodes(), SizeIs(2));
  EXPECT_THAT(record_of(installation_.node(lost)).tenants, SizeIs(1));
  EXPECT_THAT(launchers_.lock_holders(lost), IsEmpty());
  reclaim(first);
}

TEST_F(MetastaticTest, a_backing_node_whose_machine_has_ended_loses_its_nodes) {
  rules = "max-parallel-jobs: 3";
  const Node node = launch();
  process_->pass(minutes(1));
  EXPECT_THAT(process_->run(process_->provider().terminated()), IsEmpty());
  Node ended = backing();
  ended.comment = "instance vm-1 has stopped";
  installation_.write(ended);
  process_->settle();
  EXPECT_THAT(
      process_->run(process_->provider().terminated()),
      ElementsAre(Pair(node.id, "backing node " + ended.id + ": instance vm-1 has stopped")));
  EXPECT_FALSE(process_->run(process_->provider().is_usable(node.id)));
  const Node next = launch();
  EXPECT_NE(slot_of(next)->backing_node, ended.id);
  reclaim(node.id);
  process_->pass(minutes(1));
  EXPECT_EQ(installation_.node(ended.id).state, NodeState::used) << "it is released";
}

TEST_F(MetastaticTest, a_backing_node_that_is_locked_anew_is_used_again) {
  launch();
  const std::string lost = backing().id;
  launchers_.unlock(lost);
  launchers_.lock(lost, "NodePool:metastatic:shares");
  launch();
  EXPECT_THAT(record().tenants, SizeIs(2));
}

TEST_F(MetastaticTest, launches_that_wait_for_a_backing_node_get_it_beyond_its_max_age) {
  rules = "max-parallel-jobs: 2, max-age: 60";
  start();
  launchers_.boot_time = minutes(5);
  const auto first = begin(add_node());
  const auto second = begin(add_node());
  process_->settle();
  finish(first);
  finish(second);
  EXPECT_THAT(record().tenants, SizeIs(2)) << "of the only one";
  EXPECT_THAT(launchers_.requests(), IsEmpty());
}

TEST_F(MetastaticTest, a_request_lost_with_its_session_is_repeated_for_its_waiters) {
  start();
  launchers_.boot_time = minutes(5);
  const auto job = begin(add_node());
  process_->settle();
  const std::string request = launchers_.requests().at(0);
  process_->lose_session();
  process_->pass(minutes(1));
  ASSERT_THAT(launchers_.requests(), SizeIs(1));
  EXPECT_NE(launchers_.requests().at(0), request);
  process_->cancel();
  process_->lose_session();
  process_->pass(minutes(1));
  EXPECT_THAT(launchers_.requests(), IsEmpty()) << "no launch waits";
}

TEST_F(MetastaticTest, a_backing_node_that_cannot_be_scanned_gets_no_more_nodes) {
  rules = "max-parallel-jobs: 2, host-key-checking: true";
  launchers_.address = "127.0.0.1";  // nobody is there
  EXPECT_THAT(failure_of_launch(), HasSubstr("key scan"));
  ASSERT_THAT(launchers_.nodes(), SizeIs(3)) << "one for each attempt";
  for (const Node& on : launchers_.nodes()) {
    EXPECT_TRUE(on.state == NodeState::used || record_of(on).failed) << "given back, or to be";
  }
}

// --- several launchers, and those that are started again

TEST_F(MetastaticTest, another_launcher_finds_the_places_that_are_free) {
  launch();
  start();
  launch();
  EXPECT_THAT(record().tenants, ElementsAre(Key(0), Key(1)));
}

// Its own record named the slot of the attempt before, as if it were taken.
TEST_F(MetastaticTest, another_attempt_takes_the_slot_of_the_one_before) {
  rules = "max-parallel-jobs: 1";
  launchers_.address = "";
  EXPECT_THAT(failure_of_launch(), testing::HasSubstr("no usable address"));
  EXPECT_THAT(launchers_.nodes(), SizeIs(1));
  EXPECT_THAT(launchers_.requests(), IsEmpty());
}

TEST_F(MetastaticTest, two_launchers_share_backing_nodes) {
  rules = "max-parallel-jobs: 4";
  launch();
  const auto other = new_process();
  std::vector<JobPointer> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(process_->launch(add_node()));
    jobs.push_back(other->launch(add_node()));
  }
  const auto have_ended = [&] {
    return std::ranges::all_of(jobs, [](const JobPointer& job) { return job->ended; });
  };
  while (!have_ended()) {
    other->settle();
    ASSERT_TRUE(process_->step());
  }
  std::size_t tenants = 0;
  for (const Node& on : launchers_.nodes()) tenants += record_of(on).tenants.size();
  EXPECT_EQ(tenants, 7);
  for (const JobPointer& job : jobs) EXPECT_EQ(job->failure(), "");
}

TEST_F(MetastaticTest, records_of_the_python_nodepool_are_adopted) {
  const std::string user_data =
      R"({"owner": "NodePool:metastatic:shares", "label": "small", "slots": 2, "failed": false, )"
      R"("launched": 1700000000.5})";
  const std::string on =
      launchers_.add_backing_node(model::json_string(user_data), "NodePool:metastatic:shares");
  Node left = installation_.node(add_node());
  left.external_id = model::json_string(left.id);
  left.driver_data = driver_data({on, 0}, left.id, {});
  left.slot = 0;
  left.set_state(NodeState::ready, installation_.clock.wall_seconds());
  installation_.write(left);
  const Node node = launch();
  EXPECT_EQ(node.slot, 1);
  EXPECT_THAT(launchers_.nodes(), SizeIs(1));
  EXPECT_TRUE(process_->run(process_->provider().is_usable(left.id)));
  reclaim(node.id);
  pass_minutes(5);
  EXPECT_EQ(backing().state, NodeState::in_use) << "the other node is still there";
  reclaim(left.id);
  pass_minutes(3);
  EXPECT_EQ(backing().state, NodeState::used);
}

TEST_F(MetastaticTest, a_launch_of_the_python_nodepool_is_begun_anew) {
  Node left = installation_.node(add_node());
  left.external_id = model::json_string(left.id);
  left.username = "unknown";
  installation_.write(left);
  start();
  finish(begin(left.id));
  EXPECT_EQ(installation_.node(left.id).username, "ci");
}

TEST_F(MetastaticTest, a_label_that_is_configured_otherwise_counts_from_then_on) {
  const Node first = launch();
  rules = "max-parallel-jobs: 1";
  process_->replace_provider();
  launch();
  EXPECT_EQ(record().slots, 2) << "it keeps its slots";
  launch();
  EXPECT_THAT(launchers_.nodes(), SizeIs(2));
}

TEST_F(MetastaticTest, a_launch_goes_on_under_a_new_configuration) {
  start();
  launchers_.boot_time = minutes(5);
  const auto job = begin(add_node());
  process_->settle();
  rules = "max-parallel-jobs: 3";
  process_->replace_provider();
  finish(job);
  EXPECT_EQ(record().slots, 2);
  launch();
  EXPECT_THAT(launchers_.nodes(), SizeIs(1));
}

}  // namespace
}  // namespace nodepool::drivers::metastatic
