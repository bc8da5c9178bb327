// The contract of all drivers that make machines, on a stand-in of the API.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drivers/openshift/openshift_driver.h"
#include "tests/drivers/kubernetes/kube_fixture.h"

namespace nodepool::drivers::contract {
namespace {

constexpr const char* kProjects = R"(
labels: [{name: small}, {name: built}]
providers:
  - name: fake-contract
    driver: openshift
    context: one
    launch-timeout: 900
    limit-to-cluster-capacity: true
    pools:
      - name: main
        labels:
          - {name: small, type: pod, image: 'debian:12', cpu: 1, memory: 1024}
          - {name: built, type: project}
)";

constexpr const char* kPods = R"(
labels: [{name: small}, {name: built}]
providers:
  - name: fake-contract
    driver: openshiftpods
    context: one
    launch-timeout: 900
    pools:
      - name: main
        labels:
          - {name: small, image: 'debian:12', cpu: 1, memory: 1024}
          - {name: built, image: 'debian:12'}
)";

const std::string kTwoProjects = std::string(kPods) + R"(      - name: revoked
        labels: [{name: small, image: 'debian:12'}]
)";

const std::string kProjectsWithPrefix = std::string(kPods) + R"(      - name: main-small
        labels: [{name: small, image: 'debian:12'}]
)";

KubeFixture::Json small_pod() {
  return {{"spec",
           {{"containers",
             KubeFixture::Json::array(
                 {{{"name", "small"},
                   {"resources", {{"requests", {{"cpu", "1000m"}, {"memory", "1Gi"}}}}}}})}}},
          {"status", {{"phase", "Running"}}}};
}

class ProjectFixture final : public KubeFixture {
 public:
  explicit ProjectFixture(harness::Installation& installation)
      : KubeFixture(installation, "projectrequests") {
    removed_ = "projects";
    awaited_ = "GET pods";
    cluster_.space_kind = "projects";
    set_capacity(10);
  }

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    return make<openshift::OpenShiftDriver>(std::move(context), kProjects);
  }

  std::vector<Machine> machines() override {
    std::vector<Machine> all;
    for (const auto& [path, thing] : cluster_.things()) {
      if (!path.starts_with("projects/")) continue;
      const Json annotations = thing["metadata"].value("annotations", Json::object());
      const std::string text = annotations.value("openshift.io/description", "{}");
      all.push_back({thing["metadata"]["name"], Json::parse(text).get<driver::Metadata>()});
    }
    return all;
  }

  void set_capacity(std::size_t machines) override {
    cluster_.room = machines;
    const std::string amount = std::to_string(machines);
    cluster_.add(
        "nodes/worker-1",
        {{"status",
          {{"allocatable", {{"cpu", amount}, {"memory", amount + "Gi"}, {"pods", amount}}}}}});
  }

  void add_machine(driver::Metadata metadata) override {
    const std::string name = name_of(kPool, metadata, ++others_);
    const Json annotations = {{"openshift.io/description", labels_of(metadata).dump()}};
    cluster_.add("projects/" + name, {{"metadata", {{"annotations", annotations}}}});
    cluster_.add("namespaces/" + name + "/pods/small", small_pod());
  }
};

class PodFixture : public KubeFixture {
 public:
  explicit PodFixture(harness::Installation& installation) : KubeFixture(installation, "pods") {
    limits_ = "resourcequotas";
    set_capacity(10);
  }

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    return make<openshift::OpenShiftPodsDriver>(std::move(context), kPods);
  }

  std::vector<Machine> machines() override {
    std::vector<Machine> all;
    for (const auto& [path, thing] : cluster_.things()) {
      if (!path.starts_with("namespaces/main/pods/")) continue;
      const Json labels = thing["metadata"].value("labels", Json::object());
      const std::string name = thing["metadata"]["name"];
      all.push_back({"main-" + name, labels.get<driver::Metadata>()});
    }
    return all;
  }

  void end_machine(const std::string& id) override {
    const std::string path = "namespaces/main/pods/" + id.substr(id.find('-') + 1);
    Json pod = cluster_.things().at(path);
    pod["status"]["phase"] = "Failed";
    cluster_.add(path, std::move(pod));
  }

  void set_capacity(std::size_t machines) override {
    cluster_.room = machines;
    const std::string amount = std::to_string(machines);
    cluster_.add(
        "namespaces/main/resourcequotas/all",
        {{"status",
          {{"hard",
            {{"pods", amount}, {"requests.cpu", amount}, {"requests.memory", amount + "Gi"}}}}}});
  }

  void add_machine(driver::Metadata metadata) override {
    Json pod = small_pod();
    pod["metadata"]["labels"] = labels_of(metadata);
    cluster_.add("namespaces/main/pods/" + name_of("small", metadata, ++others_), std::move(pod));
  }
};

// One of two projects may not be used any more.
class RevokedFixture final : public PodFixture {
 public:
  explicit RevokedFixture(harness::Installation& installation) : PodFixture(installation) {
    cluster_.forbidden.insert("revoked");
  }

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    return make<openshift::OpenShiftPodsDriver>(std::move(context), kTwoProjects);
  }

  bool has_complete_listings() const override { return false; }
};

class RevokedContract : public DriverContract {};

TEST_P(RevokedContract, a_project_that_may_not_be_read_is_unknown_and_reported_once) {
  launch_new();
  model::Node node = this->node(installation_.add_node(kProvider, "revoked", kLabel));
  node.external_id = model::json_string("revoked-small-" + node.id);
  node.state = model::NodeState::ready;
  installation_.write(node);
  for (int look = 0; look < 2; ++look) {
    process_->pass(std::chrono::minutes(1));
    EXPECT_NO_THROW(process_->run(provider().available()));
    EXPECT_TRUE(process_->run(provider().is_usable(node.id))) << "its pod may run";
  }
  const auto is_report = [](const std::string& line) {
    return line.contains("Reading the pods of project revoked one by one") &&
           line.contains("list pods: HTTP 403");
  };
  EXPECT_EQ(std::ranges::count_if(installation_.log, is_report), 1);
}

// Projects that the user is not shown for a while: OpenShift answers from a cache of permissions.
class ProjectContract : public DriverContract {
 protected:
  kubernetes::StandIn& cluster() { return dynamic_cast<KubeFixture&>(*cloud_).cluster(); }
};

TEST_P(ProjectContract, a_project_that_is_not_listed_is_deleted_when_it_is_not_found) {
  const model::Node node = launch_new();
  cluster().deletion_time = std::chrono::minutes(2);
  cluster().lists_spaces = false;
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(job->ended) << "it is being deleted";
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(machine_ids(), testing::IsEmpty());
}

TEST_P(ProjectContract, a_deletion_that_is_held_up_names_the_obstacles) {
  const model::Node node = launch_new();
  cluster().deletion_time = std::chrono::hours(1);
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::seconds(1));
  const std::string name = cloud_->machine_of(node);
  kubernetes::StandIn::Json space = cluster().things().at("projects/" + name);
  space["status"]["conditions"] = {{{"type", "NamespaceDeletionDiscoveryFailure"},
                                    {"status", "False"},
                                    {"message", "all is discovered"}},
                                   {{"type", "NamespaceFinalizersRemaining"},
                                    {"status", "True"},
                                    {"message", "example.com/f in 1 resource instances"}}};
  cluster().add("projects/" + name, space);
  process_->pass(std::chrono::minutes(4));
  EXPECT_FALSE(job->ended) << "pods may take a while to end";
  EXPECT_THAT(finish(job)->failure(),
              testing::AllOf(testing::HasSubstr("project " + name + " is still being deleted"),
                             testing::HasSubstr("NamespaceFinalizersRemaining: example.com/f"),
                             testing::Not(testing::HasSubstr("DiscoveryFailure"))));
  EXPECT_TRUE(is_recorded(node.id));
}

TEST_P(ProjectContract, a_project_that_is_forbidden_for_a_moment_is_deleted_all_the_same) {
  const model::Node node = launch_new();
  for (const char* call : {"DELETE projects", "GET projects"}) cluster().fail(call, {403});
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), testing::IsEmpty());
}

TEST_P(ProjectContract, a_project_is_not_gone_because_a_proxy_forbids_or_does_not_find_it) {
  const model::Node node = launch_new();
  for (const char* call : {"DELETE projects", "GET projects"}) {
    cluster().fail_at_proxy(call, {403, 404});
  }
  reclaim_in_the_end(node.id, 3);
}

TEST_P(ProjectContract, a_pod_that_cannot_be_read_for_a_moment_is_not_gone) {
  cloud_->set_boot_time(std::chrono::minutes(1));
  start();
  const auto one = process_->launch(add_node());
  const auto other = process_->launch(add_node());
  process_->pass(std::chrono::seconds(30));
  cluster().fail("GET pods", {400});
  for (const auto& job : {one, other}) EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(installation_.accounts, testing::SizeIs(2)) << "one attempt each";
}

// OpenShift forbids what is in a project that does not exist.
TEST_P(ProjectContract, a_pod_that_is_forbidden_after_it_was_seen_has_been_deleted) {
  cloud_->set_boot_time(std::chrono::minutes(1));
  const auto job = start().launch(add_node());
  process_->pass(std::chrono::seconds(30));
  cluster().fail("GET pods", {403});
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(installation_.accounts, testing::SizeIs(2)) << "another attempt";
}

// Users cannot set labels of projects, and only this driver writes tags into their descriptions.
TEST_P(ProjectContract, a_project_of_the_python_nodepool_is_usable_and_no_leak) {
  start();
  model::Node node = this->node(add_node());
  const std::string name = "main-" + node.id;
  node.external_id = model::json_string(name);
  node.state = model::NodeState::ready;
  installation_.write(node);
  cluster().add("projects/" + name, {{"metadata", {{"labels", {{"team", "ci"}}}}}});
  process_->pass(std::chrono::minutes(1));
  EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
  for (int look = 0; look < 3; ++look) process_->run(provider().launching()->remove_leaks());
  EXPECT_THAT(process_->run(provider().launching()->leaks()), testing::IsEmpty());
  EXPECT_THAT(machine_ids(), testing::SizeIs(1));
  cluster().erase("projects/" + name);
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
}

// Pods that the cluster refuses for a while.
class PodContract : public DriverContract {
 protected:
  kubernetes::StandIn& cluster() { return dynamic_cast<KubeFixture&>(*cloud_).cluster(); }
};

TEST_P(PodContract, a_conflict_at_the_quota_says_nothing_about_the_name) {
  cluster().fail("POST pods", {409, 409}, "Operation cannot be fulfilled on resourcequotas");
  const model::Node node = launch_new();
  EXPECT_THAT(installation_.accounts, testing::SizeIs(1)) << "in the same attempt";
  EXPECT_EQ(cloud_->machine_of(node), "main-small-" + node.id);
}

// Two projects, of which one's name begins with the other's: an id may name a pod in either.
class PrefixFixture final : public PodFixture {
 public:
  using PodFixture::PodFixture;

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    return make<openshift::OpenShiftPodsDriver>(std::move(context), kProjectsWithPrefix);
  }
};

class PrefixContract : public PodContract {};

TEST_P(PrefixContract, a_pod_is_deleted_though_another_project_may_not_be_read) {
  start();
  for (const auto& [pool, other] :
       {std::pair("main-small", "main"), std::pair("main", "main-small")}) {
    const std::string id = installation_.add_node(kProvider, pool, kLabel);
    EXPECT_EQ(finish(process_->launch(id))->failure(), "");
    const std::string path = std::string("namespaces/") + pool + "/pods/small-" + id;
    EXPECT_THAT(cluster().things(), testing::Contains(testing::Key(path)));
    cluster().forbidden = {other};
    reclaim(id);
    EXPECT_THAT(cluster().things(), testing::Not(testing::Contains(testing::Key(path))));
    cluster().forbidden.clear();
  }
}

TEST_P(PrefixContract, a_pod_whose_own_project_may_not_be_read_is_not_given_up) {
  const model::Node node = launch_new();
  cluster().forbidden = {kPool};
  EXPECT_THAT(finish(process_->reclaim(node.id))->failure(), testing::HasSubstr("HTTP 403"));
  EXPECT_THAT(machine_ids(), testing::SizeIs(1));
  cluster().forbidden.clear();
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), testing::IsEmpty());
}

// A user with the permissions that the Python Nodepool needs.
class UnlistedFixture final : public PodFixture {
 public:
  explicit UnlistedFixture(harness::Installation& installation) : PodFixture(installation) {
    cluster_.denied = {"LIST pods", "WATCH pods", "LIST resourcequotas"};
  }
};

class UnlistedContract : public PodContract {
 protected:
  std::ptrdiff_t reports() const {
    return std::ranges::count_if(installation_.log, [](const std::string& line) {
      return line.contains("Reading the pods of project main one by one") &&
             line.contains("the user may not LIST pods");
    });
  }
  std::vector<driver::Leak> leaks() { return process_->run(provider().launching()->leaks()); }
};

TEST_P(UnlistedContract, a_launch_reads_its_pod_every_second) {
  cloud_->set_boot_time(std::chrono::seconds(30));
  const model::Node node = launch_new();
  EXPECT_EQ(node.host_id, "worker-1");
  EXPECT_THAT(cluster().count("GET pods"), testing::AllOf(testing::Ge(20), testing::Le(35)));
  EXPECT_EQ(reports(), 1);
}

TEST_P(UnlistedContract, a_pod_that_may_not_be_listed_is_used_and_deleted) {
  cloud_->add_machine(owner_tags(kProvider, "0000009999"));
  const model::Node node = launch_new();
  for (int minute = 0; minute < 5; ++minute) {
    process_->pass(std::chrono::minutes(1));
    EXPECT_NO_THROW(process_->run(provider().available()));
    EXPECT_TRUE(process_->run(provider().is_usable(node.id)));
    EXPECT_THAT(process_->run(provider().terminated()), testing::IsEmpty());
    EXPECT_THAT(leaks(), testing::IsEmpty());
  }
  EXPECT_THAT(cluster().count("LIST pods"), testing::AllOf(testing::Ge(3), testing::Le(14)));
  EXPECT_EQ(reports(), 1);
  cluster().deletion_time = std::chrono::minutes(1);
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::seconds(30));
  EXPECT_FALSE(job->ended) << "it is being deleted";
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(machine_ids(), testing::SizeIs(1)) << "what belongs to no node";
}

TEST_P(UnlistedContract, a_permission_is_withdrawn_during_a_launch_and_a_deletion) {
  const std::set<std::string> denied = std::exchange(cluster().denied, {});
  cloud_->set_boot_time(std::chrono::minutes(2));
  cluster().deletion_time = std::chrono::minutes(5);
  const model::Node node = launch_new();
  const auto launch = process_->launch(add_node());
  const auto deletion = process_->reclaim(node.id);
  process_->pass(std::chrono::minutes(1));
  EXPECT_EQ(reports(), 0);
  cluster().denied = denied;
  EXPECT_EQ(finish(launch)->failure(), "");
  EXPECT_THAT(installation_.accounts, testing::SizeIs(2)) << "one attempt each";
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(deletion->ended) << "it was listed as being deleted, and now is unknown";
  EXPECT_EQ(finish(deletion)->failure(), "");
  EXPECT_THAT(machine_ids(), testing::SizeIs(1));
  EXPECT_EQ(reports(), 1);
}

TEST_P(UnlistedContract, a_permission_that_is_granted_later_takes_effect) {
  const model::Node node = launch_new();
  cloud_->add_machine(owner_tags(kProvider, "0000009999"));
  cloud_->end_machine(cloud_->machine_of(node));
  process_->pass(std::chrono::minutes(2));
  EXPECT_TRUE(process_->run(provider().is_usable(node.id))) << "its pod is unknown";
  EXPECT_THAT(leaks(), testing::IsEmpty());
  cluster().denied.clear();
  process_->pass(std::chrono::minutes(2));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
  EXPECT_THAT(leaks(), testing::SizeIs(1));
}

TEST_P(UnlistedContract,
       a_node_of_a_removed_pool_loses_its_record_though_its_project_is_forbidden) {
  model::Node node = this->node(installation_.add_node(kProvider, "removed", kLabel));
  node.launch_journal = {"7"};  // unreadable: there may be a pod
  installation_.write(node);
  cluster().forbidden = {"removed"};
  reclaim(node.id);
  EXPECT_FALSE(is_recorded(node.id));
}

TEST_P(UnlistedContract, a_launch_that_may_not_read_its_pod_ends) {
  cluster().denied.insert("GET pods");
  EXPECT_THAT(finish(start().launch(add_node()))->failure(),
              testing::HasSubstr("the user may not GET pods"));
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(openshift, ProjectContract, testing::Values(backend<ProjectFixture>()));
INSTANTIATE_TEST_SUITE_P(openshiftpods, PodContract, testing::Values(backend<PodFixture>()));
INSTANTIATE_TEST_SUITE_P(unlisted, UnlistedContract, testing::Values(backend<UnlistedFixture>()));
INSTANTIATE_TEST_SUITE_P(unlisted, DeathContract, testing::Values(backend<UnlistedFixture>()));
INSTANTIATE_TEST_SUITE_P(prefix, PrefixContract, testing::Values(backend<PrefixFixture>()));
INSTANTIATE_TEST_SUITE_P(revoked, RevokedContract, testing::Values(backend<RevokedFixture>()));
INSTANTIATE_TEST_SUITE_P(revoked, DriverContract, testing::Values(backend<RevokedFixture>()));
INSTANTIATE_TEST_SUITE_P(revoked, EndContract, testing::Values(backend<RevokedFixture>()));
INSTANTIATE_TEST_SUITE_P(openshift, DriverContract, testing::Values(backend<ProjectFixture>()));
INSTANTIATE_TEST_SUITE_P(openshift, DeathContract, testing::Values(backend<ProjectFixture>()));
INSTANTIATE_TEST_SUITE_P(openshift, QuotaContract, testing::Values(backend<ProjectFixture>()));
INSTANTIATE_TEST_SUITE_P(openshift, WireContract, testing::Values(backend<ProjectFixture>()));
INSTANTIATE_TEST_SUITE_P(openshiftpods, DriverContract, testing::Values(backend<PodFixture>()));
INSTANTIATE_TEST_SUITE_P(openshiftpods, DeathContract, testing::Values(backend<PodFixture>()));
INSTANTIATE_TEST_SUITE_P(openshiftpods, EndContract, testing::Values(backend<PodFixture>()));
INSTANTIATE_TEST_SUITE_P(openshiftpods, QuotaContract, testing::Values(backend<PodFixture>()));
INSTANTIATE_TEST_SUITE_P(openshiftpods, WireContract, testing::Values(backend<PodFixture>()));

}  // namespace nodepool::drivers::contract
