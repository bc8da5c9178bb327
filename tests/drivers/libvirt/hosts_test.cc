// What libvirt's driver does on several hosts, and with machines of others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <utility>

#include <boost/asio/post.hpp>

#include "drivers/libvirt/domain_xml.h"
#include "drivers/libvirt/placement.h"
#include "tests/drivers/libvirt/two_hosts.h"

namespace nodepool::drivers::libvirt {
namespace {

using model::Node;
using model::NodeState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
namespace harness = driver::harness;

constexpr std::string_view kFirstHost = "{name: one, uri: one}, ";
constexpr std::string_view kSecondHost = ", {name: two, uri: two, address: 192.0.2.200}";

TEST_F(HostsTest, machines_go_to_the_emptiest_host_where_they_fit) {
  EXPECT_EQ(host_of(launch_new()), "one");
  EXPECT_EQ(host_of(launch_new()), "two");
  one().memory = 3500;  // space for one more
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(host_of(launch_new()), "two");
  EXPECT_EQ(host_of(launch_new()), "two");
  EXPECT_EQ(host_of(launch_new()), "one");
}

TEST_F(HostsTest, launches_at_the_same_time_see_each_other) {
  std::vector<std::shared_ptr<harness::Job>> jobs;
  for (int i = 0; i < 8; ++i) jobs.push_back(process_->launch(add_node()));
  for (const auto& job : jobs) process_->run_until_ended(*job);
  for (const auto& job : jobs) EXPECT_EQ(job->failure(), "");
  EXPECT_THAT(one().domains, SizeIs(4));
  EXPECT_THAT(two().domains, SizeIs(4));
  EXPECT_THAT(launch(add_node())->failure(), HasSubstr("host one: not enough capacity left"));
}

TEST_F(HostsTest, a_host_where_launches_fail_comes_last_for_a_while) {
  one().memory = 9000;  // the emptiest
  one().faults->set(Fault::start_full, 1);
  EXPECT_EQ(host_of(launch_new()), "two");
  EXPECT_EQ(host_of(launch_new()), "two");
  process_->pass(std::chrono::minutes(5));
  EXPECT_EQ(host_of(launch_new()), "one");
}

TEST_F(HostsTest, a_host_where_a_launch_succeeds_is_as_good_as_others) {
  one().memory = 9000;
  one().faults->set(Fault::start_full, 1);
  EXPECT_EQ(host_of(launch_new()), "two");
  two().memory = 2000;  // nothing left
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(host_of(launch_new()), "one");
  two().memory = 5000;
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(host_of(launch_new()), "one");
}

TEST_F(HostsTest, a_host_that_was_away_is_as_good_as_others) {
  one().memory = two().memory + 4000;
  one().boot_time = std::chrono::seconds(60);
  const auto job = process_->launch(add_node());
  process_->pass(std::chrono::seconds(20));
  one().is_away = true;
  process_->run_until_ended(*job);
  EXPECT_THAT(two().domains, SizeIs(1));
  one().is_away = false;
  one().boot_time = {};
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(host_of(launch_new()), "one");
}

TEST_F(HostsTest, what_a_host_can_never_do_another_one_does) {
  one().faults->set(Fault::define_permanent, 100);
  EXPECT_EQ(host_of(launch_new()), "two");
}

TEST_F(HostsTest, a_launch_that_times_out_goes_to_another_host) {
  one().boot_time = std::chrono::hours(1);
  EXPECT_EQ(host_of(launch_new()), "two");
}

TEST_F(HostsTest, the_quota_is_what_all_hosts_have_less_what_others_use) {
  driver::Limits limits = process_->run(provider().available());
  EXPECT_EQ(limits.at("cores"), 32);
  EXPECT_EQ(limits.at("ram"), 8000);
  EXPECT_EQ(limits.at("pci_0000_01_00_0"), 0);
  one().add({.name = "database",
             .tags = {},
             .cpus = 4,
             .memory = 1500,
             .macs = {},
             .host_devices = {},
             .reason = {}});
  process_->pass(std::chrono::minutes(1));
  limits = process_->run(provider().available());
  EXPECT_EQ(limits.at("cores"), 28);
  EXPECT_EQ(limits.at("ram"), 6500);
}

TEST_F(HostsTest, a_host_that_is_away_keeps_its_nodes_and_gets_no_new_ones) {
  const Node on_one = launch_new();
  const Node on_two = launch_new();
  one().is_away = true;
  process_->pass(std::chrono::minutes(1));
  EXPECT_TRUE(process_->run(provider().is_usable(on_one.id))) << "nobody knows";
  EXPECT_TRUE(process_->run(provider().is_usable(on_two.id)));
  EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
  EXPECT_EQ(host_of(launch_new()), "two");
  EXPECT_EQ(process_->run(provider().available()).at("ram"), 8000)
      << "with the capacity of one, which may be back";
  const auto reclaim = process_->reclaim(on_one.id);
  process_->run_until_ended(*reclaim);
  EXPECT_THAT(reclaim->failure(), HasSubstr("away"));
  EXPECT_EQ(installation_.node(on_one.id).state, NodeState::deleting);
  EXPECT_THAT(process_->run(provider().missing_in_cloud()),
              testing::Contains("host one does not respond: the host is away"));
  one().is_away = false;
  const auto again = process_->reclaim(on_one.id);
  process_->run_until_ended(*again);
  EXPECT_EQ(again->failure(), "");
  EXPECT_THAT(one().domains, IsEmpty());
}

TEST_F(HostsTest, a_host_that_hangs_delays_no_other) {
  const Node on_one = launch_new();
  const Node on_two = launch_new();
  std::promise<void> released;
  one().before_stop = [&released] { released.get_future().wait(); };
  const auto hanging = process_->reclaim(on_one.id);
  const auto other = process_->reclaim(on_two.id);
  process_->run_until_ended(*other);
  EXPECT_EQ(other->failure(), "");
  EXPECT_FALSE(hanging->ended);
  released.set_value();
  process_->run_until_ended(*hanging);
  EXPECT_EQ(hanging->failure(), "");
}

TEST_F(HostsTest, a_start_may_take_minutes) {
  one().before_start = [this] {
    for (int i = 0; i < 6; ++i) pass_during_call(std::chrono::seconds(29));
  };
  EXPECT_EQ(host_of(launch_new()), "one");
}

TEST_F(HostsTest, a_start_that_takes_long_delays_no_query_of_hosts) {
  std::promise<void> released;
  bool has_begun = false;
  one().before_start = [&] {
    boost::asio::post(loop_, [&has_begun] { has_begun = true; });
    released.get_future().wait();
  };
  const std::string id = add_node();
  const auto job = process_->launch(id);
  while (!has_begun) ASSERT_TRUE(process_->step());
  EXPECT_EQ(process_->run(provider().available()).at("ram"), 8000);
  EXPECT_FALSE(job->ended);
  released.set_value();
  process_->run_until_ended(*job);
  EXPECT_EQ(host_of(installation_.node(id)), "one");
}

TEST_F(HostsTest, a_launch_waits_for_a_start_by_an_earlier_launcher) {
  one().boot_time = std::chrono::seconds(60);
  const std::string id = add_node();
  process_->launch(id);
  process_->pass(std::chrono::seconds(5));
  ASSERT_THAT(one().domains, SizeIs(1));
  one().domains.begin()->second.description.state = Domain::State::starting;
  start();
  const auto job = process_->launch(id);
  process_->pass(std::chrono::seconds(100));
  EXPECT_FALSE(job->ended);
  one().domains.begin()->second.description.state = Domain::State::running;
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "");
  EXPECT_EQ(host_of(installation_.node(id)), "one");
}

TEST_F(HostsTest, a_launch_goes_on_when_its_host_is_back) {
  one().boot_time = two().boot_time = std::chrono::seconds(60);
  const std::string id = add_node();
  const auto job = process_->launch(id);
  process_->pass(std::chrono::seconds(20));
  one().is_away = true;
  process_->pass(std::chrono::seconds(100));
  EXPECT_FALSE(job->ended);
  one().is_away = false;
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "");
  EXPECT_EQ(host_of(installation_.node(id)), "one");
}

TEST_F(HostsTest, a_launch_goes_to_another_host_when_its_own_stays_away) {
  one().boot_time = two().boot_time = std::chrono::seconds(60);
  const std::string id = add_node();
  const auto job = process_->launch(id);
  process_->pass(std::chrono::seconds(20));
  ASSERT_THAT(one().domains, SizeIs(1));
  one().is_away = true;
  process_->pass(std::chrono::minutes(4));
  ASSERT_TRUE(job->ended);
  EXPECT_EQ(job->failure(), "");
  Node node = installation_.node(id);
  EXPECT_EQ(host_of(node), "two");
  EXPECT_THAT(two().domains, SizeIs(1));
  node.set_state(NodeState::in_use, node.state_time);
  installation_.write(node);
  one().is_away = false;
  remove_leaks();
  EXPECT_THAT(one().domains, IsEmpty());
  EXPECT_THAT(two().domains, SizeIs(1));
}

TEST_F(HostsTest, a_host_that_is_back_gets_no_second_machine_of_a_node) {
  one().boot_time = two().boot_time = std::chrono::seconds(60);
  const std::string id = add_node();
  const auto job = process_->launch(id);
  process_->pass(std::chrono::seconds(20));
  one().is_away = true;
  process_->pass(std::chrono::minutes(3));
  EXPECT_FALSE(job->ended);
  ASSERT_THAT(two().domains, SizeIs(1));
  one().is_away = false;
  two().domains.clear();  // the second attempt fails, too
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "");
  EXPECT_EQ(host_of(installation_.node(id)), "two");
  remove_leaks();
  EXPECT_THAT(one().domains, IsEmpty());
  EXPECT_THAT(two().domains, SizeIs(1));
}

TEST_F(HostsTest, machines_on_a_host_without_configuration_are_abandoned) {
  const Node node = launch_new();
  ASSERT_EQ(host_of(node), "one");
  start_without(kFirstHost);
  const auto reclaim = process_->reclaim(node.id);
  process_->run_until_ended(*reclaim);
  EXPECT_EQ(reclaim->failure(), "");
  EXPECT_THAT(one().domains, SizeIs(1));
  EXPECT_THAT(installation_.log, testing::Contains(HasSubstr("no host `one` any more")));
  configuration_ = kTwoHosts;
  start();
  remove_leaks();
  EXPECT_THAT(one().domains, IsEmpty());
}

TEST_F(HostsTest, a_launch_on_a_host_without_configuration_goes_to_another_one) {
  one().boot_time = std::chrono::seconds(60);
  const std::string id = add_node();
  process_->launch(id);
  process_->pass(std::chrono::seconds(20));
  ASSERT_THAT(one().domains, SizeIs(1));
  start_without(kFirstHost);
  EXPECT_EQ(launch(id)->failure(), "");
  EXPECT_EQ(host_of(installation_.node(id)), "two");
}

TEST_F(HostsTest, a_launch_waits_for_the_only_host) {
  start_without(kSecondHost);
  one().boot_time = std::chrono::seconds(60);
  const std::string id = add_node();
  const auto job = process_->launch(id);
  process_->pass(std::chrono::seconds(20));
  one().is_away = true;
  process_->pass(std::chrono::minutes(5));
  EXPECT_FALSE(job->ended);
  one().is_away = false;
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "");
}

TEST_F(HostsTest, without_any_host_nothing_is_known) {
  const Node node = launch_new();
  one().is_away = two().is_away = true;
  process_->pass(std::chrono::minutes(1));
  EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
  EXPECT_ANY_THROW(process_->run(provider().terminated()));
  EXPECT_THAT(launch(add_node())->failure(),
              HasSubstr("no host responds: host one: the host is away; host two: the host is"));
}

TEST_F(HostsTest, labels_are_declined_only_if_no_host_can_ever_serve_them) {
  EXPECT_EQ(problem_of("small"), "");
  EXPECT_THAT(problem_of("wide"), HasSubstr("64 processors"));
  EXPECT_THAT(problem_of("gpu"), HasSubstr("there is no host device pci_0000_01_00_0"));
  one().volumes.clear();
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(problem_of("small"), "");
  EXPECT_EQ(host_of(launch_new()), "two");
  two().networks.clear();
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(problem_of("small"), testing::AllOf(HasSubstr("no volume image.qcow2"),
                                                  HasSubstr("no active network default")));
  EXPECT_THAT(problem_of("bridged"), "");
}

TEST_F(HostsTest, labels_of_hosts_that_have_never_responded_are_not_declined) {
  one().volumes.clear();
  two().is_away = true;
  start();
  EXPECT_EQ(problem_of("small"), "");
}

TEST_F(HostsTest, the_capacity_of_hosts_that_have_never_responded_is_unknown) {
  two().is_away = true;
  start();
  EXPECT_THAT(process_->run(provider().available()), IsEmpty());
}

// Such a launch is aborted, so its request waits.
TEST_F(HostsTest, requests_wait_for_a_host_that_is_away_and_may_serve_them) {
  one().volumes.clear();
  two().is_away = true;
  start();
  const auto launch_in_vain = [this] {
    const std::string id = add_node();
    EXPECT_THAT(launch(id)->failure(), HasSubstr("host two does not respond: the host is away"));
    return installation_.node(id).state;
  };
  EXPECT_EQ(launch_in_vain(), NodeState::aborted) << "it has never responded";
  two().is_away = false;
  process_->pass(std::chrono::minutes(1));
  process_->run(provider().available());
  two().is_away = true;
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(launch_in_vain(), NodeState::aborted) << "it could serve them before";
  two().is_away = false;
  two().volumes.clear();
  process_->pass(std::chrono::minutes(1));
  process_->run(provider().available());
  two().is_away = true;
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(launch_in_vain(), NodeState::failed) << "it could not serve them either";
}

TEST_F(HostsTest, requests_do_not_wait_for_a_host_that_stays_away) {
  one().volumes.clear();
  launch_new();
  two().is_away = true;
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(process_->run(provider().available()).at("ram"), 8000);
  process_->pass(std::chrono::minutes(16));
  EXPECT_EQ(process_->run(provider().available()).at("ram"), 5000)
      << "4000 of one, and 1000 of its machine, which counts as used";
  const std::string id = add_node();
  EXPECT_THAT(launch(id)->failure(), HasSubstr("host two does not respond"));
  EXPECT_EQ(installation_.node(id).state, NodeState::failed);
}

TEST_F(HostsTest, a_host_device_belongs_to_one_machine) {
  two().devices = {"pci_0000_01_00_0"};
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(process_->run(provider().available()).at("pci_0000_01_00_0"), 1);
  const Node node = launch_new("gpu");
  EXPECT_EQ(host_of(node), "two");
  EXPECT_EQ(driver::Resources::parse(node.resources)->amount("pci_0000_01_00_0"), 1);
  EXPECT_THAT(domain_of(two()).host_devices, ElementsAre("pci_0000_01_00_0"));
  EXPECT_THAT(launch(add_node("gpu"))->failure(), HasSubstr("capacity"));
}

TEST_F(HostsTest, nodes_of_user_networks_are_reached_at_ports_of_their_host) {
  one().memory = 1000;  // nothing left
  const Node first = launch_new("forwarded");
  const Node second = launch_new("forwarded");
  EXPECT_EQ(first.interface_ip, "192.0.2.200");
  EXPECT_THAT((std::vector{first.port(), second.port()}), UnorderedElementsAre(20000, 20001));
  EXPECT_THAT(launch(add_node("forwarded"))->failure(), HasSubstr("capacity"));
}

TEST(FreeMacs, are_random_and_not_those_of_other_domains) {
  async::Random random(1);
  const auto drawn = free_macs({}, 2, random);
  EXPECT_THAT(drawn, testing::Each(testing::MatchesRegex("52(:[0-9a-f]{2}){5}")));
  HostState host;
  host.domains.emplace_back().macs = {drawn.front()};
  async::Random same(1);
  EXPECT_THAT(free_macs(host, 1, same), ElementsAre(drawn.back()));
  async::Random other(2);
  EXPECT_NE(free_macs({}, 2, other), drawn);
}

TEST_F(HostsTest, a_machine_does_not_know_the_name_of_its_domain) {
  launch_new();
  const std::string name = domain_of(one()).name;
  EXPECT_THAT(one().volumes.at(configuration_name(name)).bytes,
              testing::AllOf(HasSubstr("instance-id"), testing::Not(HasSubstr(name))));
}

TEST_F(HostsTest, without_a_lease_the_guest_agent_is_asked) {
  one().has_leases = false;
  const Node node = launch_new("bridged");
  EXPECT_EQ(node.interface_ip, "192.0.2.8");
}

TEST_F(HostsTest, the_domain_of_a_stranger_with_the_name_of_a_machine_is_not_touched) {
  const std::string id = add_node();
  const Node node = installation_.node(id);
  const driver::Ownership ownership(std::make_shared<model::Installation>(installation_.identity),
                                    "rack");
  const std::string name = domain_name("np" + id, ownership.of_node(node));
  one().add({.name = name, .tags = {}, .macs = {}, .host_devices = {}, .reason = {}});
  two().is_away = true;
  EXPECT_THAT(launch(id)->failure(), HasSubstr(name));
  const auto reclaim = process_->reclaim(id);
  process_->run_until_ended(*reclaim);
  EXPECT_EQ(reclaim->failure(), "");
  EXPECT_TRUE(domain_of(one()).is_active());
  EXPECT_TRUE(one().volumes.contains(disk_name(name)));
}

TEST_F(HostsTest, volumes_that_have_lost_their_domain_are_leaks) {
  const Node node = launch_new();
  const std::string name = domain_of(one()).name;
  one().domains.clear();
  one().create_volume(volume_xml("np0000000000-01234567.qcow2", "qcow2", 1));  // of others
  const auto reclaim = process_->reclaim(node.id);
  one().is_away = true;  // so that nothing is deleted now
  process_->run_until_ended(*reclaim);
  one().is_away = false;
  installation_.remove_node(node.id);
  process_->pass(std::chrono::minutes(1));
  for (int look = 0; look < 2; ++look) process_->run(provider().launching()->remove_leaks());
  std::vector<std::string> left;
  for (const auto& [volume, content] : one().volumes) left.push_back(volume);
  EXPECT_THAT(left, UnorderedElementsAre("image.qcow2", "np0000000000-01234567.qcow2"));
}

TEST_F(HostsTest, volumes_are_deleted_from_the_storage_pool_of_their_machine) {
  const Node node = launch_new();
  change_storage_pool("ssd");
  ASSERT_TRUE(one().other_pools.at("default").contains(disk_name(domain_of(one()).name)));
  const auto reclaim = process_->reclaim(node.id);
  process_->run_until_ended(*reclaim);
  EXPECT_EQ(reclaim->failure(), "");
  EXPECT_THAT(one().other_pools.at("default"), ElementsAre(testing::Key("image.qcow2")));
  EXPECT_THAT(one().domains, IsEmpty());
}

TEST_F(HostsTest, a_machine_whose_storage_pool_is_missing_is_not_gone) {
  const Node node = launch_new();
  change_storage_pool("ssd");
  one().other_pools.clear();
  const auto reclaim = process_->reclaim(node.id);
  process_->run_until_ended(*reclaim);
  EXPECT_THAT(reclaim->failure(), HasSubstr("no storage pool default"));
  EXPECT_THAT(one().domains, SizeIs(1));
}

TEST_F(HostsTest, domains_that_have_ended_have_a_reason) {
  const Node node = launch_new();
  one().crash(domain_of(one()).name);
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
  EXPECT_THAT(process_->run(provider().terminated()).at(node.id), HasSubstr("crashed"));
}

}  // namespace
}  // namespace nodepool::drivers::libvirt
