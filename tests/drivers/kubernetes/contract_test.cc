// The contract of all drivers that make machines, on a stand-in of the API.

#include <array>
#include <set>
#include <string>
#include <utility>

#include "driver/cloud_error.h"
#include "drivers/kubernetes/kubernetes_driver.h"
#include "tests/drivers/kubernetes/kube_fixture.h"

namespace nodepool::drivers::contract {
namespace {

constexpr const char* kConfiguration = R"(
labels: [{name: small}, {name: built}]
providers:
  - name: fake-contract
    driver: kubernetes
    launch-timeout: 900
    limit-to-cluster-capacity: true
    pools:
      - name: main
        labels:
          - {name: small, type: pod, image: 'debian:12', cpu: 1, memory: 1024}
          - {name: built, type: namespace}
)";

class NamespaceFixture : public KubeFixture {
 public:
  explicit NamespaceFixture(harness::Installation& installation)
      : KubeFixture(installation, "namespaces") {
    set_capacity(10);
  }

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    return make<kubernetes::KubernetesDriver>(std::move(context), kConfiguration);
  }

  std::vector<Machine> machines() override {
    std::vector<Machine> all;
    for (const auto& [path, thing] : cluster_.things()) {
      if (!path.starts_with("namespaces/") || std::ranges::count(path, '/') != 1) continue;
      const Json labels = thing["metadata"].value("labels", Json::object());
      all.push_back({thing["metadata"]["name"], labels.get<driver::Metadata>()});
    }
    return all;
  }

  void set_capacity(std::size_t machines) override {
    cluster_.room = machines;
    const auto amount = static_cast<int>(machines);
    cluster_.add("nodes/worker-1", {{"status",
                                     {{"allocatable",
                                       {{"cpu", std::to_string(amount)},
                                        {"memory", std::to_string(amount) + "Gi"},
                                        {"pods", std::to_string(amount)}}}}}});
  }

  void add_machine(driver::Metadata metadata) override {
    const std::string path = "namespaces/" + name_of(kPool, metadata, ++others_);
    cluster_.add(path, {{"metadata", {{"labels", labels_of(metadata)}}}});
    cluster_.add(path + "/pods/small",
                 {{"metadata", {{"labels", labels_of(metadata)}}},
                  {"spec",
                   {{"containers",
                     Json::array({{{"name", "small"},
                                   {"resources",
                                    {{"requests", {{"cpu", "1000m"}, {"memory", "1Gi"}}}}}}})}}},
                  {"status", {{"phase", "Running"}}}});
  }

  void end_machine(const std::string& id) override {
    cluster_.erase("namespaces/" + id + "/pods/small");
  }
};

// A cluster that does not let its changes be followed.
class ForgetfulFixture final : public NamespaceFixture {
 public:
  explicit ForgetfulFixture(harness::Installation& installation) : NamespaceFixture(installation) {
    cluster_.is_forgetful = true;
  }
};

// What a cluster refuses for a while.
class RefusalContract : public DriverContract {
 protected:
  static constexpr std::size_t kAttempts = KubeFixture::kAttempts;

  kubernetes::StandIn& cluster() { return dynamic_cast<KubeFixture&>(*cloud_).cluster(); }
};

constexpr std::array kParts = {"serviceaccounts", "secrets", "roles", "rolebindings", "pods"};

TEST_P(RefusalContract, what_was_forbidden_is_made_by_another_attempt) {
  for (const std::string part : kParts) {
    cluster().fail("POST " + part, {403}, "as the test wants it");
    expect_one_machine(launch_new().id);
  }
}

constexpr const char* kUncounted = "forbidden: status unknown for quota: q";

TEST_P(RefusalContract, a_launch_waits_until_the_quota_of_its_new_namespace_is_counted) {
  for (const std::string part : kParts) {
    installation_.accounts.clear();
    cluster().fail("POST " + part, {403, 403, 403}, kUncounted);
    expect_one_machine(launch_new().id);
    EXPECT_THAT(installation_.accounts, testing::SizeIs(1)) << "one attempt for " << part;
  }
}

TEST_P(RefusalContract, a_namespace_that_waits_for_its_pod_has_not_ended) {
  cluster().fail("POST pods", std::vector<int>(10, 403), kUncounted);
  const auto job = start().launch(add_node());
  process_->pass(std::chrono::seconds(2));
  ASSERT_FALSE(job->ended);
  EXPECT_THAT(process_->run(provider().terminated()), testing::IsEmpty());
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(process_->run(provider().terminated()), testing::IsEmpty());
}

constexpr const char* kOfQuota = "Operation cannot be fulfilled on resourcequotas";

TEST_P(RefusalContract, what_a_conflict_has_refused_is_made_in_the_same_attempt) {
  for (const std::string part : kParts) {
    installation_.accounts.clear();
    cluster().fail("POST " + part, {409}, kOfQuota);
    const std::string name = cloud_->machine_of(launch_new());
    EXPECT_THAT(installation_.accounts, testing::SizeIs(1)) << part;
    const std::string path = "namespaces/" + name + "/" + part + "/";
    EXPECT_THAT(cluster().things(), testing::Contains(testing::Key(testing::StartsWith(path))));
  }
}

TEST_P(RefusalContract, a_token_that_does_not_come_is_an_internal_error) {
  constexpr std::size_t kPolls = 40;  // more than in 30 s
  cluster().fail("GET secrets", std::vector<int>(kPolls, 404), "no token yet");
  expect_one_machine(launch_new().id);
  ASSERT_THAT(installation_.accounts, testing::SizeIs(2)) << "two attempts";
  EXPECT_EQ(installation_.accounts.front().result, "error.nodepool");
}

TEST_P(RefusalContract, leaks_are_counted_as_nodes) {
  cloud_->add_machine(owner_tags(kProvider, "0000009999"));
  start();
  EXPECT_THAT(process_->run(provider().launching()->leaks()),
              testing::ElementsAre(testing::Field(&driver::Leak::type, "node")));
}

TEST_P(RefusalContract, a_node_whose_namespace_is_being_deleted_has_ended_and_names_it) {
  const model::Node node = launch_new();
  process_->pass(std::chrono::minutes(1));  // older than the listings
  const std::string name = cloud_->machine_of(node);
  kubernetes::StandIn::Json space = cluster().things().at("namespaces/" + name);
  space["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z";
  cluster().add("namespaces/" + name, space);
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(
      process_->run(provider().terminated()),
      testing::ElementsAre(testing::Pair(node.id, "namespace " + name + " is being deleted")));
}

TEST_P(RefusalContract, a_deletion_that_is_held_up_names_the_obstacles) {
  const model::Node node = launch_new();
  cluster().deletion_time = std::chrono::hours(1);
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::seconds(1));
  const std::string name = cloud_->machine_of(node);
  kubernetes::StandIn::Json space = cluster().things().at("namespaces/" + name);
  space["status"]["conditions"] = {{{"type", "NamespaceDeletionDiscoveryFailure"},
                                    {"status", "False"},
                                    {"message", "all is discovered"}},
                                   {{"type", "NamespaceFinalizersRemaining"},
                                    {"status", "True"},
                                    {"message", "example.com/f in 1 resource instances"}}};
  cluster().add("namespaces/" + name, space);
  process_->pass(std::chrono::minutes(4));
  EXPECT_FALSE(job->ended) << "pods may take a while to end";
  EXPECT_THAT(finish(job)->failure(),
              testing::AllOf(testing::HasSubstr("namespace " + name + " is still being deleted"),
                             testing::HasSubstr("NamespaceFinalizersRemaining: example.com/f"),
                             testing::Not(testing::HasSubstr("DiscoveryFailure"))));
  EXPECT_TRUE(is_recorded(node.id));
}

TEST_P(RefusalContract, a_deletion_is_repeated_after_a_conflict) {
  const std::string id = launch_new().id;
  cluster().fail("DELETE namespaces", {409});
  reclaim(id);
  EXPECT_THAT(machine_ids(), testing::IsEmpty());
}

TEST_P(RefusalContract, a_deletion_that_conflicts_all_the_time_has_not_begun) {
  const std::string id = launch_new().id;
  cluster().fail("DELETE namespaces", std::vector<int>(kAttempts, 409));
  reclaim_in_the_end(id, 2);
}

TEST_P(RefusalContract, a_conflict_is_no_error_if_the_deletion_has_begun) {
  const std::string id = launch_new().id;
  cluster().deletion_time = std::chrono::minutes(1);
  process_->reclaim(id);
  process_->pass(std::chrono::seconds(1));
  start();
  cluster().fail("DELETE namespaces", std::vector<int>(kAttempts, 409));
  reclaim(id);
  EXPECT_EQ(cluster().count("GET namespaces"), 1) << "whether it is being deleted";
  EXPECT_THAT(machine_ids(), testing::IsEmpty());
}

TEST_P(RefusalContract, a_namespace_is_not_gone_because_a_proxy_does_not_find_it) {
  const std::string id = launch_new().id;
  cluster().fail_at_proxy("DELETE namespaces", {404, 404});
  reclaim_in_the_end(id, 3);
}

TEST_P(RefusalContract, a_watch_that_fails_after_minutes_is_resumed_at_once) {
  start();
  cluster().watch_status = 400;
  for (int failure = 0; failure < 6; ++failure) {
    process_->pass(std::chrono::minutes(2));
    cluster().end_watches();
    process_->pass(std::chrono::seconds(5));
    EXPECT_EQ(cluster().held_back(), 2U) << failure;
  }
}

// A second worker of the cluster, with a pod, that does not take pods.
class CapacityContract : public RefusalContract {
 protected:
  void add_worker(bool unschedulable, const std::string& ready) {
    using Json = kubernetes::StandIn::Json;
    cluster().add("nodes/worker-2",
                  {{"spec", {{"unschedulable", unschedulable}}},
                   {"status",
                    {{"allocatable", {{"cpu", "4"}, {"memory", "4Gi"}, {"pods", "4"}}},
                     {"conditions", Json::array({{{"type", "MemoryPressure"}, {"status", "False"}},
                                                 {{"type", "Ready"}, {"status", ready}}})}}}});
    add_pod("b", "worker-2");
  }

  void add_pod(const std::string& name, const std::string& host) {
    using Json = kubernetes::StandIn::Json;
    const Json container = {{"name", "c"}, {"resources", {{"requests", {{"cpu", "500m"}}}}}};
    Json spec = {{"containers", Json::array({container})}};
    if (!host.empty()) spec["nodeName"] = host;
    cluster().add("namespaces/other/pods/" + name,
                  {{"spec", spec}, {"status", {{"phase", host.empty() ? "Pending" : "Running"}}}});
  }

  double available_cores() {
    process_->pass(std::chrono::minutes(1));  // older than the listings
    return process_->run(provider().available()).at("cores");
  }
};

TEST_P(CapacityContract, workers_that_take_no_pods_are_neither_capacity_nor_usage) {
  start();
  EXPECT_EQ(available_cores(), 10);
  for (const char* ready : {"False", "Unknown"}) {
    add_worker(false, ready);
    EXPECT_EQ(available_cores(), 10) << ready;
  }
  add_worker(true, "True");
  EXPECT_EQ(available_cores(), 10) << "cordoned";
  add_worker(false, "True");
  EXPECT_EQ(available_cores(), 13.5);
}

TEST_P(CapacityContract, pods_that_wait_for_a_worker_or_run_on_one_are_usage) {
  start();
  add_pod("waiting", "");
  EXPECT_EQ(available_cores(), 9.5);
  add_pod("running", "worker-1");
  EXPECT_EQ(available_cores(), 9);
}

// A label whose name is converted for its pods.
class DottedFixture final : public NamespaceFixture {
 public:
  using NamespaceFixture::NamespaceFixture;

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    return make<kubernetes::KubernetesDriver>(std::move(context), R"(
labels: [{name: ubuntu-22.04}]
providers:
  - name: fake-contract
    driver: kubernetes
    pools:
      - name: main
        labels:
          - {name: ubuntu-22.04, type: pod, spec: {containers: [{name: c, image: i}]}}
)");
  }
};

class DottedContract : public RefusalContract {};

TEST_P(DottedContract, a_pod_of_the_python_nodepool_has_the_name_of_the_label) {
  const model::Node node = launch_new("ubuntu-22.04");
  const std::string pods = "namespaces/" + cloud_->machine_of(node) + "/pods/";
  const kubernetes::StandIn::Json pod = cluster().things().at(pods + "ubuntu-22-04");
  cluster().erase(pods + "ubuntu-22-04");
  cluster().add(pods + "ubuntu-22.04", pod);
  process_->pass(std::chrono::minutes(1));
  EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
  cluster().erase(pods + "ubuntu-22.04");
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
}

// A user who may list namespaces, but not pods.
class RestrictedFixture : public NamespaceFixture {
 public:
  explicit RestrictedFixture(harness::Installation& installation) : NamespaceFixture(installation) {
    cluster_.denied = {"LIST pods", "WATCH pods"};
    awaited_ = "GET pods";
  }

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    std::string configuration = kConfiguration;
    const std::string key = "    limit-to-cluster-capacity: true\n";
    configuration.erase(configuration.find(key), key.size());
    return make<kubernetes::KubernetesDriver>(std::move(context), configuration);
  }
};

class RestrictedContract : public RefusalContract {
 protected:
  // How often the log says that pods are read one by one.
  std::ptrdiff_t reports() const {
    return std::ranges::count_if(installation_.log, [](const std::string& line) {
      return line.contains("one by one") && line.contains("the user may not LIST pods");
    });
  }
};

TEST_P(RestrictedContract, a_launch_reads_its_pod_every_second) {
  cloud_->set_boot_time(std::chrono::seconds(30));
  const model::Node node = launch_new();
  EXPECT_EQ(node.host_id, "worker-1");
  EXPECT_THAT(cluster().count("GET pods"), testing::AllOf(testing::Ge(20), testing::Le(35)));
  EXPECT_EQ(reports(), 1);
}

TEST_P(RestrictedContract, pods_are_listed_and_watched_again_about_once_a_minute) {
  const model::Node node = launch_new();
  for (int minute = 0; minute < 10; ++minute) {
    process_->pass(std::chrono::minutes(1));
    EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
  }
  EXPECT_THAT(cluster().count("LIST pods"), testing::AllOf(testing::Ge(5), testing::Le(18)));
  EXPECT_THAT(cluster().count("WATCH pods"), testing::AllOf(testing::Ge(5), testing::Le(20)));
  EXPECT_EQ(reports(), 1);
}

TEST_P(RestrictedContract, a_permission_that_is_granted_later_takes_effect) {
  const model::Node node = launch_new();
  cloud_->end_machine(cloud_->machine_of(node));
  process_->pass(std::chrono::minutes(2));
  EXPECT_TRUE(process_->run(provider().is_usable(node.id))) << "its pod is unknown";
  EXPECT_THAT(process_->run(provider().terminated()), testing::IsEmpty());
  cluster().denied.clear();
  process_->pass(std::chrono::minutes(2));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
  EXPECT_THAT(process_->run(provider().terminated()), testing::SizeIs(1));
}

TEST_P(RestrictedContract, a_permission_is_withdrawn_during_a_launch) {
  const std::set<std::string> denied = std::exchange(cluster().denied, {});
  cloud_->set_boot_time(std::chrono::minutes(1));
  const auto job = start().launch(add_node());
  process_->pass(std::chrono::seconds(30));
  EXPECT_EQ(reports(), 0);
  cluster().denied = denied;
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(installation_.accounts, testing::SizeIs(1)) << "the same attempt";
  EXPECT_EQ(reports(), 1);
}

TEST_P(RestrictedContract, a_list_that_is_forbidden_for_a_moment_is_read_again_seconds_later) {
  cluster().denied.clear();
  const model::Node node = launch_new();
  cloud_->end_machine(cloud_->machine_of(node));
  process_->pass(std::chrono::minutes(1));
  cluster().fail("LIST pods", {403});
  EXPECT_THAT(process_->run(provider().terminated()), testing::IsEmpty()) << "its pod is unknown";
  process_->pass(std::chrono::seconds(15));
  EXPECT_THAT(process_->run(provider().terminated()), testing::SizeIs(1));
}

TEST_P(RestrictedContract, a_launch_that_may_only_list_pods_survives_a_moment_without_permission) {
  cluster().denied = {"GET pods"};
  cloud_->set_boot_time(std::chrono::minutes(1));
  const auto job = start().launch(add_node());
  process_->pass(std::chrono::seconds(45));
  cluster().fail("LIST pods", {403}, "the user may not LIST pods");
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(installation_.accounts, testing::SizeIs(1)) << "the same attempt";
  EXPECT_EQ(reports(), 1);
}

TEST_P(RestrictedContract, a_launch_that_may_neither_list_nor_read_pods_any_more_ends) {
  cluster().denied.clear();
  cloud_->set_boot_time(std::chrono::hours(1));
  const auto job = start().launch(add_node());
  process_->pass(std::chrono::seconds(45));
  cluster().denied = {"LIST pods", "WATCH pods", "GET pods"};
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(installation_.accounts, testing::IsEmpty()) << "it may be for a moment";
  const auto begun = installation_.clock.now();
  EXPECT_THAT(finish(job)->failure(), testing::HasSubstr("the user may not GET pods"));
  EXPECT_LT(installation_.clock.now() - begun, cloud_->launch_timeout());
}

TEST_P(RestrictedContract, a_pod_that_was_listed_and_then_is_not_found_has_been_deleted) {
  const std::set<std::string> denied = std::exchange(cluster().denied, {});
  cloud_->set_boot_time(std::chrono::minutes(2));
  const auto job = start().launch(add_node());
  process_->pass(std::chrono::minutes(1));
  cluster().denied = denied;
  cloud_->end_machine(*machine_ids().begin());
  const auto begun = installation_.clock.now();
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(installation_.accounts, testing::SizeIs(2)) << "another attempt";
  EXPECT_LT(installation_.clock.now() - begun, cloud_->launch_timeout()) << "at once";
}

TEST_P(RestrictedContract, a_launch_that_may_not_read_its_pod_ends) {
  cluster().denied.insert("GET pods");
  EXPECT_THAT(finish(start().launch(add_node()))->failure(),
              testing::HasSubstr("the user may not GET pods"));
  EXPECT_NO_THROW(process_->run(provider().terminated())) << "other nodes are known";
}

TEST_P(RestrictedContract, a_pod_is_not_gone_because_a_proxy_does_not_find_it) {
  cloud_->set_boot_time(std::chrono::minutes(1));
  const auto job = start().launch(add_node());
  process_->pass(std::chrono::seconds(30));
  cluster().fail_at_proxy("GET pods", {404, 403});
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(installation_.accounts, testing::SizeIs(1)) << "the same attempt";
}

TEST_P(RestrictedContract, a_refusal_by_a_proxy_says_nothing_about_permissions) {
  cluster().denied.clear();
  launch_new();
  process_->pass(std::chrono::minutes(1));
  cluster().fail_at_proxy("LIST pods", {403});
  EXPECT_THROW(process_->run(provider().terminated()), driver::CloudError);
  EXPECT_EQ(reports(), 0);
  EXPECT_NO_THROW(process_->run(provider().terminated()));
}

// A user with the permissions that the Python Nodepool needs to make nodes.
class UnlistedFixture final : public RestrictedFixture {
 public:
  explicit UnlistedFixture(harness::Installation& installation) : RestrictedFixture(installation) {
    cluster_.denied.merge(std::set<std::string>{"LIST namespaces", "WATCH namespaces"});
  }
};

class UnlistedContract : public RefusalContract {
 protected:
  std::ptrdiff_t reports() const {
    return std::ranges::count_if(installation_.log, [](const std::string& line) {
      return line.contains("Not finding leaked namespaces") &&
             line.contains("the user may not LIST namespaces");
    });
  }
  std::vector<driver::Leak> leaks() { return process_->run(provider().launching()->leaks()); }
};

TEST_P(UnlistedContract, a_node_whose_namespace_may_not_be_listed_is_used_and_deleted) {
  cloud_->add_machine(owner_tags(kProvider, "0000009999"));
  const model::Node node = launch_new();
  for (int minute = 0; minute < 5; ++minute) {
    process_->pass(std::chrono::minutes(1));
    EXPECT_NO_THROW(process_->run(provider().available()));
    EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
    EXPECT_THAT(process_->run(provider().terminated()), testing::IsEmpty());
    EXPECT_THAT(leaks(), testing::IsEmpty());
  }
  EXPECT_THAT(cluster().count("LIST namespaces"), testing::AllOf(testing::Ge(3), testing::Le(12)));
  EXPECT_EQ(reports(), 1);
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), testing::SizeIs(1)) << "what belongs to no node";
}

TEST_P(UnlistedContract, a_deletion_ends_when_the_namespace_is_gone) {
  cluster().deletion_time = std::chrono::minutes(1);
  for (const char* denied : {"LIST namespaces", "GET namespaces"}) {
    cluster().denied.insert(denied);
    const std::string id = launch_new().id;
    const auto job = process_->reclaim(id);
    process_->pass(std::chrono::seconds(30));
    EXPECT_FALSE(job->ended) << denied;
    EXPECT_EQ(finish(job)->failure(), "");
    EXPECT_THAT(machine_ids(), testing::IsEmpty());
  }
}

TEST_P(UnlistedContract, a_namespace_is_not_gone_because_the_permission_is_withdrawn) {
  const std::set<std::string> denied = std::exchange(cluster().denied, {});
  const model::Node node = launch_new();
  cluster().deletion_time = std::chrono::minutes(5);
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::minutes(1));
  cluster().denied = denied;
  process_->pass(std::chrono::minutes(2));
  EXPECT_FALSE(job->ended) << "it was listed as being deleted, and now is unknown";
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(machine_ids(), testing::IsEmpty());
}

TEST_P(UnlistedContract, leaks_are_found_once_the_permission_is_granted) {
  cloud_->add_machine(owner_tags(kProvider, "0000009999"));
  start();
  EXPECT_THAT(leaks(), testing::IsEmpty());
  cluster().denied.clear();
  process_->pass(std::chrono::minutes(2));
  EXPECT_THAT(leaks(), testing::SizeIs(1));
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(restricted, RestrictedContract,
                         testing::Values(backend<RestrictedFixture>()));
INSTANTIATE_TEST_SUITE_P(restricted, DriverContract, testing::Values(backend<RestrictedFixture>()));
INSTANTIATE_TEST_SUITE_P(restricted, DeathContract, testing::Values(backend<RestrictedFixture>()));
INSTANTIATE_TEST_SUITE_P(unlisted, UnlistedContract, testing::Values(backend<UnlistedFixture>()));
INSTANTIATE_TEST_SUITE_P(unlisted, DeathContract, testing::Values(backend<UnlistedFixture>()));
INSTANTIATE_TEST_SUITE_P(kubernetes, DottedContract, testing::Values(backend<DottedFixture>()));
INSTANTIATE_TEST_SUITE_P(kubernetes, RefusalContract, testing::Values(backend<NamespaceFixture>()));
INSTANTIATE_TEST_SUITE_P(kubernetes, CapacityContract,
                         testing::Values(backend<NamespaceFixture>()));
INSTANTIATE_TEST_SUITE_P(kubernetes, DriverContract, testing::Values(backend<NamespaceFixture>()));
INSTANTIATE_TEST_SUITE_P(kubernetes, DeathContract, testing::Values(backend<NamespaceFixture>()));
INSTANTIATE_TEST_SUITE_P(kubernetes, EndContract, testing::Values(backend<NamespaceFixture>()));
INSTANTIATE_TEST_SUITE_P(kubernetes, QuotaContract, testing::Values(backend<NamespaceFixture>()));
INSTANTIATE_TEST_SUITE_P(kubernetes, WireContract, testing::Values(backend<NamespaceFixture>()));
INSTANTIATE_TEST_SUITE_P(forgetful, DriverContract, testing::Values(backend<ForgetfulFixture>()));
INSTANTIATE_TEST_SUITE_P(forgetful, DeathContract, testing::Values(backend<ForgetfulFixture>()));
INSTANTIATE_TEST_SUITE_P(forgetful, QuotaContract, testing::Values(backend<ForgetfulFixture>()));

}  // namespace nodepool::drivers::contract
