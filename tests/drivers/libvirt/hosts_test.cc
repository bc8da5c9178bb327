// What libvirt's driver does on several hosts, and with machines of others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <utility>

#include <boost/asio/post.hpp>

#include "drivers/libvirt/domain_xml.h"
#include "drivers/libvirt/libvirt_driver.h"
#include "drivers/libvirt/placement.h"
#include "tests/driver/harness/installation.h"
#include "tests/driver/harness/launcher_process.h"
#include "tests/drivers/contract/contract.h"
#include "tests/drivers/libvirt/fake_host.h"
#include "tests/support/temporary_directory.h"

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

constexpr const char* kConfiguration = R"(
labels: [{name: small}, {name: gpu}, {name: forwarded}, {name: bridged}, {name: wide}]
providers:
  - name: rack
    driver: libvirt
    launch-timeout: 900
    memory-reserve: 1000
    cpu-overcommit: 2
    hosts: [{name: one, uri: one}, {name: two, uri: two, address: 192.0.2.200}]
    keys: [ssh-ed25519 AAAA ci]
    cloud-images: [{name: debian, volume: image.qcow2, username: ci}]
    pools:
      - name: main
        host-key-checking: false
        labels:
          - {name: small, cloud-image: debian, cpus: 2, memory: 1000, disk: 20}
          - {name: gpu, cloud-image: debian, memory: 1000, host-devices: [pci_0000_01_00_0]}
          - name: forwarded
            cloud-image: debian
            memory: 1000
            networks: [{user: {ports: 20000-20001}}]
          - {name: bridged, cloud-image: debian, memory: 1000, networks: [{bridge: br0}]}
          - {name: wide, cloud-image: debian, cpus: 64}
)";

constexpr std::string_view kFirstHost = "{name: one, uri: one}, ";
constexpr std::string_view kSecondHost = ", {name: two, uri: two, address: 192.0.2.200}";

class HostsTest : public testing::Test {
 protected:
  HostsTest() {
    for (const char* name : {"one", "two"}) {
      auto host = std::make_shared<FakeHost>(installation_.clock);
      host->cpus = 8;
      host->memory = 5000;
      host->create_volume(volume_xml("image.qcow2", "qcow2", 1U << 30U));
      hosts_.emplace(name, std::move(host));
    }
    start();
  }

  // Starts a launcher; an earlier one dies.
  void start() {
    process_.reset();
    const auto connect = [hosts = hosts_](const std::string& uri, const std::string& /*pool*/) {
      return [host = hosts.at(uri)] { return host; };
    };
    process_ = std::make_unique<harness::LauncherProcess>(
        installation_, [this, connect](driver::ProviderContext context) {
          loop_ = context.runtime.executor;
          const LibvirtDriver driver(connect);
          return driver.provider(contract::read_provider(driver, configuration_),
                                 std::move(context));
        });
  }

  // Starts a launcher without this part of the configuration.
  void start_without(std::string_view part) {
    configuration_.erase(configuration_.find(part), part.size());
    start();
  }

  // Starts a launcher with another storage pool, which has the image.
  void change_storage_pool(const std::string& name) {
    for (const auto& [uri, host] : hosts_) {
      host->other_pools[std::exchange(host->storage_pool, name)] = std::exchange(host->volumes, {});
      host->create_volume(volume_xml("image.qcow2", "qcow2", 1U << 30U));
    }
    configuration_.insert(configuration_.find("    hosts:"), "    storage-pool: " + name + "\n");
    start();
  }

  FakeHost& one() { return *hosts_.at("one"); }
  FakeHost& two() { return *hosts_.at("two"); }
  driver::Provider& provider() { return process_->provider(); }

  std::string add_node(std::string_view label = "small") {
    return installation_.add_node("rack", "main", label);
  }

  // Lets time pass during a call, on whose thread it is called.
  void pass_during_call(async::Duration duration) {
    std::promise<void> passed;
    boost::asio::post(loop_, [&] {
      installation_.clock.advance_by(duration);
      passed.set_value();
    });
    passed.get_future().wait();
  }

  std::shared_ptr<harness::Job> launch(const std::string& id) {
    auto job = process_->launch(id);
    process_->run_until_ended(*job);
    return job;
  }

  Node launch_new(std::string_view label = "small") {
    const std::string id = add_node(label);
    EXPECT_EQ(launch(id)->failure(), "");
    return installation_.node(id);
  }

  std::string problem_of(std::string_view label) {
    process_->run(provider().available());
    return provider().offer()->label("main", label).problem;
  }

  // Two searches: a leak is deleted when it is seen again.
  void remove_leaks() {
    for (int i = 0; i < 2; ++i) {
      process_->pass(std::chrono::minutes(1));
      process_->run(provider().launching()->remove_leaks());
    }
  }

  static std::string host_of(const Node& node) { return node.host_id.value_or(""); }

  // The only domain of a host.
  static const Domain& domain_of(FakeHost& host) {
    EXPECT_THAT(host.domains, SizeIs(1));
    return host.domains.begin()->second.description;
  }

  std::string configuration_ = kConfiguration;
  harness::Installation installation_;
  std::map<std::string, std::shared_ptr<FakeHost>> hosts_;
  std::unique_ptr<harness::LauncherProcess> process_;
  async::Executor loop_;  // of the process
};

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
  EXPECT_TRUE(process_->run(provider().is_usable(on_one))) << "nobody knows";
  EXPECT_TRUE(process_->run(provider().is_usable(on_two)));
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
  configuration_ = kConfiguration;
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
  EXPECT_TRUE(process_->run(provider().is_usable(node)));
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
  EXPECT_FALSE(process_->run(provider().is_usable(node)));
  EXPECT_THAT(process_->run(provider().terminated()).at(node.id), HasSubstr("crashed"));
}

// --- images

async::Task<std::string> upload(driver::Provider& provider, std::string path,
                                std::vector<std::uint64_t>& sent) {
  driver::ProviderImage image;
  image.name = "trixie";
  driver::ImageFile file;
  file.path = path;
  file.format = "raw";
  file.size = std::filesystem::file_size(path);
  const driver::ImageSupport::Progress progress = [&sent](std::uint64_t bytes) {
    sent.push_back(bytes);
  };
  co_return co_await provider.images()->upload(image, "trixie-1", file,
                                               {{"nodepool_provider_name", "rack"}}, progress);
}

TEST_F(HostsTest, an_image_goes_to_every_host_that_responds) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  EXPECT_EQ(process_->run(upload(provider(), path, sent)), "trixie-1");
  EXPECT_THAT(sent, ElementsAre(50'000, 100'000, 100'000));
  EXPECT_EQ(one().volumes.at("trixie-1").bytes, std::string(100'000, 'x'));
  EXPECT_EQ(two().volumes.at("trixie-1").bytes, one().volumes.at("trixie-1").bytes);
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1));

  two().is_away = true;
  EXPECT_ANY_THROW(process_->run(provider().images()->remove("trixie-1", "trixie-1")));
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1)) << "a part is left";
  one().volumes.erase("trixie-1");
  process_->run(upload(provider(), path, sent));
  EXPECT_TRUE(one().volumes.contains("trixie-1"));
  two().is_away = false;
  process_->run(provider().images()->remove("trixie-1", "trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), IsEmpty());
  EXPECT_FALSE(one().volumes.contains("trixie-1"));
  EXPECT_FALSE(two().volumes.contains("trixie-1"));
}

TEST_F(HostsTest, an_image_is_sent_in_parts_that_slow_connections_can_send_in_time) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  const std::string image(10 * kMiB, 'x');
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", image);
  std::vector<std::uint64_t> sent;
  process_->run(upload(provider(), path, sent));
  EXPECT_THAT(sent, ElementsAre(4 * kMiB, 5 * kMiB, 9 * kMiB, 10 * kMiB, 10 * kMiB));
  EXPECT_TRUE(two().volumes.at("trixie-1").bytes == image);
}

TEST_F(HostsTest, a_host_that_is_away_keeps_no_image_on_the_others) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  process_->run(upload(provider(), path, sent));
  one().is_away = true;
  EXPECT_ANY_THROW(process_->run(provider().images()->remove("trixie-1", "trixie-1")));
  EXPECT_FALSE(two().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1)) << "it is still on one";
  one().is_away = false;
  process_->run(provider().images()->remove("trixie-1", "trixie-1"));
  EXPECT_FALSE(one().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), IsEmpty());
}

TEST_F(HostsTest, a_part_of_an_image_on_a_host_that_went_away_is_found_as_a_leak) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  two().is_away = true;
  one().faults->set(Fault::write_lost, 1);
  EXPECT_ANY_THROW(process_->run(upload(provider(), path, sent)));
  EXPECT_TRUE(one().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1));

  one().is_away = two().is_away = false;
  process_->run(provider().images()->remove("", "trixie-1"));
  EXPECT_FALSE(one().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), IsEmpty());
}

TEST_F(HostsTest, an_upload_that_leaves_a_part_on_a_host_fails) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  two().faults->set(Fault::write_lost, 1);
  EXPECT_ANY_THROW(process_->run(upload(provider(), path, sent)));
  EXPECT_TRUE(one().volumes.contains("trixie-1"));
  EXPECT_TRUE(two().volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), SizeIs(1));

  two().is_away = false;
  process_->run(provider().images()->remove("", "trixie-1"));
  for (FakeHost* host : {&one(), &two()}) EXPECT_FALSE(host->volumes.contains("trixie-1"));
}

TEST_F(HostsTest, a_host_whose_state_cannot_be_read_gets_no_part_of_an_image) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  two().faults->set(Fault::state_away, 1);
  EXPECT_EQ(process_->run(upload(provider(), path, sent)), "trixie-1");
  EXPECT_TRUE(one().volumes.contains("trixie-1"));
  EXPECT_FALSE(two().volumes.contains("trixie-1"));
}

TEST_F(HostsTest, a_failed_upload_whose_parts_are_deleted_is_forgotten) {
  const test_support::TemporaryDirectory directory;
  const std::string path = directory.write("image.raw", std::string(100'000, 'x'));
  std::vector<std::uint64_t> sent;
  for (FakeHost* host : {&one(), &two()}) host->faults->set(Fault::write_failed, 1);
  EXPECT_ANY_THROW(process_->run(upload(provider(), path, sent)));
  for (FakeHost* host : {&one(), &two()}) EXPECT_FALSE(host->volumes.contains("trixie-1"));
  EXPECT_THAT(process_->run(provider().images()->list()), IsEmpty());
}

}  // namespace
}  // namespace nodepool::drivers::libvirt
