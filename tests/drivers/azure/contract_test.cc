// The contract of all drivers that make machines, on a stand-in of the APIs.

#include "tests/drivers/contract/contract.h"

#include <algorithm>

#include "async/live_tasks.h"
#include "driver/ownership.h"
#include "drivers/azure/azure_driver.h"
#include "drivers/azure/names.h"
#include "tests/drivers/azure/stand_in/stand_in.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::contract {
namespace {

using azure::StandIn;
using model::Node;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kConfiguration = R"(
labels: [{name: small}, {name: built}]
diskimages: [{name: trixie, elements: [vm], username: ci}]
providers:
  - name: fake-contract
    driver: azure
    location: l
    resource-group: rg
    resource-group-location: l
    auth-path: ''
    network: net
    rate: 0
    launch-timeout: 900
    diskimages: [{name: trixie, key: ssh-rsa A}]
    cloud-images:
      - {name: debian, image-id: /debian, username: ci, key: ssh-rsa A, generate-password: true}
    pools:
      - name: main
        max-servers: 100
        host-key-checking: false
        public-ipv6: true
        labels:
          - {name: small, cloud-image: debian, hardware-profile: {vm-size: standard_d2s_v3}}
          - {name: built, diskimage: trixie, hardware-profile: {vm-size: Standard_D2s_v3}}
)";

// How often a call is made until it has failed for the driver.
constexpr std::size_t kAttempts = 4;
// … where nobody knows whether it was carried out. A connection that has been used before is tried
// once more, by libcurl itself.
constexpr std::size_t kUnansweredAttempts = 3;

class AzureFixture : public CloudFixture {
 public:
  explicit AzureFixture(harness::Installation& installation)
      : runtime_{loop_.executor(), installation.clock, installation.random}, cloud_(runtime_) {}

  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    const azure::AzureDriver driver(
        {{"AZURE_AUTH_LOCATION", directory_.write("auth.json", cloud_.auth_file())}});
    launcher_ = context.runtime.executor;
    return driver.provider(read_provider(driver, configuration()), std::move(context));
  }

  std::string machine_of(const Node& node) override {
    const auto* machine = cloud_.find("virtualMachines", node.external_id_text());
    return machine == nullptr ? "" : id_of(*machine);
  }

  std::vector<Machine> machines() override {
    std::vector<Machine> all;
    for (StandIn::Resource* machine : cloud_.all("virtualMachines")) {
      driver::Metadata metadata;
      for (const auto& [key, value] : machine->body["tags"].items()) metadata[key] = value;
      all.push_back({id_of(*machine), std::move(metadata)});
    }
    return all;
  }

  void provoke(Trouble trouble, std::size_t times) override {
    using Failure = StandIn::Failure;
    const auto fail = [&](const char* call, std::size_t calls, const Failure& failure) {
      cloud_.fail(call, std::vector<Failure>(calls, failure));
    };
    const char* const kPut = "PUT virtualMachines/NAME";
    const Failure bad_request{.status = 400, .code = "InvalidParameter"};
    switch (trouble) {
      case Trouble::quota:
        return fail(kPut, times,
                    {.status = 409, .code = "OperationNotAllowed", .message = "Cores quota"});
      case Trouble::no_capacity:
        cloud_.machine_errors.assign(times, "AllocationFailed");
        return;
      case Trouble::creation_error:
        return fail(kPut, times, bad_request);
      case Trouble::broken_machine:
        cloud_.machine_errors.assign(times, "VMAgentStatusCommunicationError");
        return;
      case Trouble::response_lost:
        return fail(kPut, times * kUnansweredAttempts, {.status = -1});
      case Trouble::request_lost:
        return fail(kPut, times * kUnansweredAttempts, {.status = 0});
      case Trouble::deletion_error:
        return fail("DELETE virtualMachines/NAME", times, bad_request);
      case Trouble::listing_error:
        return fail("GET virtualMachines", times * kAttempts, {.status = 503});
      case Trouble::listing_failed:
        return fail("GET virtualMachines", times, bad_request);
      case Trouble::limits_error:
        return fail("GET usages", times * kAttempts, {.status = 503});
      case Trouble::image_error:
        return fail("PUT images/NAME", times, bad_request);
      case Trouble::busy:
        return provoke_busy(times);
      case Trouble::token_expired:
        return cloud_.fail_any(
            std::vector<Failure>(times, {.status = 401, .code = "ExpiredAuthenticationToken"}));
    }
  }

  void set_boot_time(async::Duration time) override { cloud_.boot_time = time; }
  void set_capacity(std::size_t machines) override { cloud_.capacity = machines; }
  // Only machines of this installation have the names of its nodes.
  void add_machine(driver::Metadata metadata) override {
    const bool is_ours =
        driver::value_of(metadata, driver::kProviderNameKey) == kProvider &&
        driver::value_of(metadata, driver::kInstallationIdKey) == harness::kInstallationId;
    const std::string name = is_ours ? "np" + driver::value_of(metadata, driver::kNodeIdKey)
                                     : "other-" + std::to_string(++others_);
    cloud_.add("virtualMachines", name,
               {{"tags", metadata},
                {"properties", {{"hardwareProfile", {{"vmSize", "Standard_D2s_v3"}}}}}});
  }
  void end_machine(const std::string& id) override {
    for (StandIn::Resource* machine : cloud_.all("virtualMachines")) {
      if (id_of(*machine) == id) machine->is_hanging = true;
    }
  }

  // The wire is silent when every call that waits for an answer is one that the cloud holds back.
  bool wait_for_wire() override {
    const bool cloud_ran = loop_.poll();
    const auto tasks = async::live_tasks(launcher_);
    const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits_for_answer));
    return cloud_ran || calls > cloud_.held_back();
  }

  StandIn& cloud() { return cloud_; }

 protected:
  virtual std::string configuration() const { return kConfiguration; }
  // Names are used again, ids are not.
  virtual std::string id_of(const StandIn::Resource& machine) const { return machine.id; }

 private:
  static bool waits_for_answer(const async::LiveTask& task) {
    return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
      return wait.what.starts_with("http:");
    });
  }

  void provoke_busy(std::size_t times) {
    const std::vector<StandIn::Failure> kinds = {
        {.status = 429, .code = "SubscriptionRequestsThrottled", .headers = "Retry-After: 1\r\n"},
        {.status = 503, .headers = "Retry-After: 1\r\n"},
        {.status = 429, .code = "RetryableError"}};
    std::vector<StandIn::Failure> failures;
    for (std::size_t i = 0; i < times; ++i) failures.push_back(kinds[i % kinds.size()]);
    cloud_.fail_any(failures);
  }

  async::EventLoop loop_;
  async::Runtime runtime_;
  StandIn cloud_;
  test_support::TemporaryDirectory directory_;
  async::Executor launcher_;
  int others_ = 0;
};

// Machines are told apart by their names, as in what the driver says.
class NameFixture final : public AzureFixture {
 public:
  using AzureFixture::AzureFixture;

 private:
  std::string id_of(const StandIn::Resource& machine) const override { return machine.name; }
};

// All answers take a while.
class SlowFixture final : public AzureFixture {
 public:
  explicit SlowFixture(harness::Installation& installation) : AzureFixture(installation) {
    cloud().latency = std::chrono::milliseconds(500);
  }
};

// With the default rate, of one call a second.
class PacedFixture final : public AzureFixture {
 public:
  using AzureFixture::AzureFixture;

 private:
  std::string configuration() const override {
    std::string text = kConfiguration;
    const std::string rate = "    rate: 0\n";
    return text.erase(text.find(rate), rate.size());
  }
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(azure, DriverContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, DeathContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, QuotaContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, EndContract, testing::Values(backend<NameFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, ImageContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(azure, WireContract, testing::Values(backend<AzureFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, DriverContract, testing::Values(backend<SlowFixture>()));
INSTANTIATE_TEST_SUITE_P(slow, WireContract, testing::Values(backend<SlowFixture>()));

// What Azure alone does.
class AzureContract : public DriverContract {
 protected:
  StandIn& azure() { return static_cast<AzureFixture&>(*cloud_).cloud(); }

  async::Task<> read_available() { co_await provider().available(); }

  std::size_t count_of_all() {
    std::size_t all = 0;
    for (const char* type :
         {"virtualMachines", "networkInterfaces", "publicIPAddresses", "disks"}) {
      all += azure().all(type).size();
    }
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(azure, AzureContract, testing::Values(backend<AzureFixture>()));

// The contract counts machines only.
class AzureDeathContract : public DeathContract {
 protected:
  // Azure deletes them after the machine.
  std::size_t count_of_parts() {
    process_->pass(std::chrono::seconds(10));
    StandIn& azure = static_cast<AzureFixture&>(*cloud_).cloud();
    return azure.all("networkInterfaces").size() + azure.all("publicIPAddresses").size() +
           azure.all("disks").size();
  }
};

INSTANTIATE_TEST_SUITE_P(azure, AzureDeathContract, testing::Values(backend<AzureFixture>()));

TEST_P(AzureDeathContract, parts_left_by_a_death_anywhere_are_reclaimed) {
  at_each_moment([this] {
    const std::string id = add_node();
    run(*start().launch(id));
    start();
    reclaim(id);
    EXPECT_EQ(count_of_parts(), 0U);
  });
}

TEST_P(AzureDeathContract, parts_of_a_deletion_go_after_a_death_anywhere) {
  at_each_moment([this] {
    const std::string id = launch_new().id;
    run(*process_->reclaim(id));
    start();
    if (is_recorded(id)) reclaim(id);
    EXPECT_EQ(count_of_parts(), 0U);
  });
}

TEST_P(AzureContract, a_machine_is_kept_though_what_it_takes_cannot_be_read) {
  const std::string id = add_node();
  auto job = start().launch(id);
  while (azure().count("PUT virtualMachines/NAME") < 1) ASSERT_TRUE(process_->step());
  azure().fail("GET skus", std::vector<StandIn::Failure>(100 * kAttempts));
  const auto asked = azure().count("GET skus");
  EXPECT_EQ(finish(start().launch(id))->failure(), "");  // the new launcher has not read it yet
  EXPECT_GT(azure().count("GET skus"), asked);
  expect_one_machine(id);
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 1U);
}

TEST_P(AzureContract, a_node_has_the_addresses_of_its_machine) {
  const Node node = launch_new();
  EXPECT_EQ(node.external_id_text(), "np" + node.id);
  EXPECT_EQ(node.cloud, "Azure");
  EXPECT_EQ(node.region, "l");
  EXPECT_EQ(node.az, "");
  EXPECT_THAT(*node.public_ipv4, HasSubstr("192.0.2."));
  EXPECT_THAT(*node.public_ipv6, HasSubstr("2001:db8::"));
  EXPECT_THAT(*node.private_ipv4, HasSubstr("10.0.0."));
  EXPECT_EQ(node.interface_ip, node.public_ipv4);
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(driver::Resources::parse(node.resources),
            driver::Resources(
                {{"instances", 1}, {"cores", 2}, {"ram", 8192}, {"standardDSv3Family", 2}}));
}

TEST_P(AzureContract, one_call_makes_all_parts_and_one_deletes_them) {
  const Node node = launch_new();
  EXPECT_EQ(count_of_all(), 5U);
  reclaim(node.id);
  process_->pass(std::chrono::seconds(10));
  EXPECT_EQ(count_of_all(), 0U);
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 1U);
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 1U);
  EXPECT_EQ(azure().count("GET virtualMachines/NAME"), 0U);
  EXPECT_EQ(azure().count("GET networkInterfaces"), 1U);
  EXPECT_EQ(azure().count("GET publicIPAddresses"), 1U);
}

// Bursts with the default rate.
class AzureBurst : public AzureContract {
 protected:
  std::vector<std::string> launch(std::size_t nodes) {
    std::vector<std::string> ids;
    std::vector<std::shared_ptr<harness::Job>> jobs;
    start();
    for (std::size_t i = 0; i < nodes; ++i) {
      ids.push_back(add_node());
      jobs.push_back(process_->launch(ids.back()));
    }
    for (const auto& job : jobs) EXPECT_EQ(finish(job)->failure(), "");
    return ids;
  }

  void reclaim_all(const std::vector<std::string>& ids) {
    std::vector<std::shared_ptr<harness::Job>> jobs;
    for (const std::string& id : ids) jobs.push_back(process_->reclaim(id));
    for (const auto& job : jobs) EXPECT_EQ(finish(job)->failure(), "");
    EXPECT_THAT(machine_ids(), IsEmpty());
  }
};

INSTANTIATE_TEST_SUITE_P(azure, AzureBurst, testing::Values(backend<PacedFixture>()));

// Each machine is gone before a list can show that it is being deleted.
TEST_P(AzureBurst, one_list_serves_all_launches_and_one_all_deletions) {
  azure().operation_time = std::chrono::milliseconds(500);
  reclaim_all(launch(20));
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 20U);
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 20U);
  EXPECT_EQ(azure().count("GET virtualMachines/NAME"), 20U);
  EXPECT_EQ(azure().count("GET virtualMachines"), 2U);
  EXPECT_EQ(azure().count("GET networkInterfaces"), 1U);
  EXPECT_EQ(azure().count("GET publicIPAddresses"), 1U);
}

// A list gets its turn after 50 deletions, when the first machines are gone.
TEST_P(AzureBurst, a_deletion_that_a_list_shows_takes_no_call_of_its_own) {
  azure().operation_time = std::chrono::milliseconds(500);
  const std::vector<std::string> ids = launch(60);
  azure().operation_time = std::chrono::seconds(40);
  reclaim_all(ids);
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 60U);
  EXPECT_LT(azure().count("GET virtualMachines/NAME"), 20U);
}

TEST_P(AzureBurst, waits_for_turns_do_not_delay_later_deletions) {
  azure().operation_time = std::chrono::milliseconds(500);
  reclaim_all(launch(20));
  const Node node = launch_new();
  const auto begun = installation_.clock.now();
  reclaim(node.id);
  EXPECT_LT(installation_.clock.now() - begun, std::chrono::seconds(6));
}

TEST_P(AzureContract, a_machine_that_is_not_found_yet_is_deleted_in_the_same_deletion) {
  const Node node = launch_new();
  azure().fail("DELETE virtualMachines/NAME", {{.status = 404, .code = "ResourceNotFound"}});
  reclaim(node.id);
  EXPECT_THAT(machine_ids(), IsEmpty());
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 2U);
}

TEST_P(AzureContract, a_machine_that_no_list_shows_is_deleted_when_it_is_not_found) {
  const Node node = launch_new();
  azure().operation_time = std::chrono::minutes(5);
  azure().lists_machines = false;
  const auto job = process_->reclaim(node.id);
  process_->pass(std::chrono::minutes(2));
  EXPECT_FALSE(job->ended) << "it is being deleted";
  EXPECT_EQ(finish(job)->failure(), "");
  EXPECT_THAT(machine_ids(), IsEmpty());
}

TEST_P(AzureContract, a_machine_that_lists_omit_is_waited_for_while_it_is_found) {
  azure().lists_machines = false;
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(std::chrono::minutes(2));
  azure().lists_machines = true;
  EXPECT_EQ(finish(job)->failure(), "");
  expect_one_machine(id);
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 1U);
}

// As at an endpoint of something else.
TEST_P(AzureContract, a_machine_is_not_gone_because_its_list_does_not_exist) {
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(1));
  azure().fail("GET virtualMachines",
               std::vector<StandIn::Failure>(10, {.status = 404, .code = "NotFound"}));
  EXPECT_THAT(finish(process_->reclaim(node.id))->failure(), HasSubstr("HTTP 404"));
  EXPECT_TRUE(is_recorded(node.id));
  EXPECT_THAT(machines_of(node.id), SizeIs(1));
}

// As Azure makes an address later than a machine's interface, and may refuse it then.
TEST_P(AzureContract, an_address_is_awaited) {
  azure().address_time = std::chrono::seconds(40);
  EXPECT_THAT(*launch_new().public_ipv4, HasSubstr("192.0.2."));
}

// Their names say whose they are: they have no tags.
TEST_P(AzureContract, leaked_parts_are_deleted) {
  const std::string own = azure::owner_mark({.id = harness::kInstallationId}, kProvider);
  const std::string other = azure::owner_mark({.id = harness::kInstallationId}, "other");
  const auto add = [this](const char* type, const std::string& mark, const char* end) {
    azure().add(type, "np0000009999-" + mark + end,
                {{"properties", {{"ipConfigurations", StandIn::Json::array()}}}});
  };
  add("publicIPAddresses", own, "-1-v4-ip-5f3a");
  add("networkInterfaces", own, "-2-nic");
  add("disks", own, "-1-disk");
  add("disks", other, "-1-disk");
  azure().add("disks", "np0000009999-disk", {{"properties", {{"diskState", "Unattached"}}}});
  start();
  process_->run(provider().launching()->remove_leaks());
  EXPECT_EQ(count_of_all(), 5U);
  process_->pass(std::chrono::minutes(1));
  process_->run(provider().launching()->remove_leaks());
  EXPECT_EQ(count_of_all(), 2U);
}

// One after the other: no deletion is refused because of another resource.
TEST_P(AzureContract, all_parts_that_azure_leaves_behind_are_deleted) {
  const Node lost = launch_new();
  const Node reclaimed = launch_new();
  installation_.remove_node(lost.id);
  azure().lacks_cascade = true;
  reclaim(reclaimed.id);
  for (int look = 0; look < 6; ++look) {
    process_->run(provider().launching()->remove_leaks());
    process_->pass(std::chrono::minutes(1));
  }
  EXPECT_EQ(count_of_all(), 0U);
}

TEST_P(AzureContract, the_parts_of_nodes_are_no_leaks) {
  launch_new();
  for (int look = 0; look < 3; ++look) {
    process_->run(provider().launching()->remove_leaks());
    process_->pass(std::chrono::minutes(1));
  }
  EXPECT_EQ(count_of_all(), 5U);
}

TEST_P(AzureContract, machines_that_have_been_switched_off_are_noticed) {
  const Node node = launch_new();
  EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
  azure().find("virtualMachines", "np" + node.id)->power = "deallocated";
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(process_->run(provider().terminated()),
              testing::ElementsAre(
                  testing::Pair(node.id, "virtual machine np" + node.id + " is deallocated")));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id)));
}

// It is for the whole subscription, and asked for again after an hour.
TEST_P(AzureContract, without_the_permission_for_states_machines_count_as_running) {
  const char* const kStates = "GET virtualMachines?statusOnly";
  azure().fail(kStates, {{.status = 403, .code = "AuthorizationFailed"}});
  const Node node = launch_new();
  azure().find("virtualMachines", "np" + node.id)->power = "stopped";
  for (int look = 0; look < 3; ++look) {
    process_->pass(std::chrono::minutes(1));
    EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
  }
  EXPECT_EQ(azure().count(kStates), 1U);
  process_->pass(std::chrono::hours(1));
  EXPECT_THAT(process_->run(provider().terminated()), SizeIs(1));
}

TEST_P(AzureContract, while_states_cannot_be_read_machines_count_as_running) {
  const Node node = launch_new();
  azure().find("virtualMachines", "np" + node.id)->power = "stopped";
  azure().fail("GET virtualMachines?statusOnly", std::vector<StandIn::Failure>(kAttempts));
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(process_->run(provider().terminated()), IsEmpty());
  process_->pass(std::chrono::minutes(1));
  EXPECT_THAT(process_->run(provider().terminated()), SizeIs(1));
}

TEST_P(AzureContract, what_others_use_of_the_quota_is_not_available) {
  azure().others = 30;
  start();
  EXPECT_EQ(process_->run(provider().available()).at("instances"), 70);
  const Node node = launch_new();
  process_->pass(std::chrono::minutes(5));
  const driver::Limits available = process_->run(provider().available());
  EXPECT_EQ(available.at("instances"), 70) << "less the node, whose record counts";
  EXPECT_EQ(available.at("cores"), 140);
  EXPECT_EQ(available.at("standardDSv3Family"), 140);
}

TEST_P(AzureContract, a_machine_that_another_installation_has_just_made_stays) {
  const Node node = launch_new();
  const std::string name = "np" + node.id;
  azure().find("virtualMachines", name)->deleted = installation_.clock.now();
  process_->pass(std::chrono::minutes(1));
  EXPECT_FALSE(process_->run(provider().is_usable(node.id))) << "it is in no listing";
  driver::Metadata of_another = owner_tags(kProvider, node.id);
  of_another[std::string(driver::kInstallationIdKey)] = "another-installation";
  azure().add("virtualMachines", name, {{"tags", of_another}});
  reclaim(node.id);
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 0U);
  EXPECT_THAT(machine_ids(), SizeIs(1));
}

TEST_P(AzureContract, the_reason_of_a_failure_is_known) {
  cloud_->provoke(Trouble::no_capacity, 3);
  EXPECT_THAT(fail_to_launch().error.what(), HasSubstr("AllocationFailed: as the test wants it"));
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 3U) << "one for each attempt";
  launch_new();
  EXPECT_EQ(azure().count("GET operations"), 3U) << "none for a launch that goes well";
}

TEST_P(AzureContract, the_resource_group_is_made_and_not_while_it_is_being_deleted) {
  azure().has_group = false;
  const Node node = launch_new();
  EXPECT_EQ(azure().count("PUT resourceGroups/NAME"), 1U);
  launch_new();
  EXPECT_EQ(azure().count("GET resourceGroups/NAME"), 1U);
  EXPECT_TRUE(is_recorded(node.id));
  start();
  azure().group_state = "Deleting";
  EXPECT_THAT(fail_to_launch().error.what(), HasSubstr("resource group rg is being deleted"));
}

// Names of machines are those of nodes. Azure refuses to change a machine to another one.
TEST_P(AzureContract, a_machine_of_another_installation_with_the_same_name_stays) {
  const std::string id = add_node();
  driver::Metadata of_another = owner_tags(kProvider, id);
  of_another[std::string(driver::kInstallationIdKey)] = "another-installation";
  azure().add("virtualMachines", "np" + id, {{"tags", of_another}});
  const auto job = finish(start().launch(id));
  EXPECT_THAT(job->failure(), HasSubstr("exists, and was not made for this attempt"));
  reclaim(id);
  EXPECT_THAT(machine_ids(), SizeIs(1));
  EXPECT_EQ(count_of_all(), 1U);
}

// Azure may refuse a repeated call so.
TEST_P(AzureContract, a_machine_that_a_call_with_unknown_outcome_has_made_is_found) {
  azure().fail("PUT virtualMachines/NAME",
               {{.status = -503}, {.status = 409, .code = "PropertyChangeNotAllowed"}});
  expect_one_machine(launch_new().id);
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 2U);
  EXPECT_THAT(installation_.accounts, SizeIs(1)) << "no other attempt";
}

TEST_P(AzureContract, a_password_is_in_no_record) {
  const Node node = launch_new();
  const StandIn::Json body =
      StandIn::Json::parse(azure().calls("PUT virtualMachines/NAME").at(0).body);
  const std::string password = body["properties"]["osProfile"]["adminPassword"];
  EXPECT_THAT(password, SizeIs(64));
  EXPECT_THAT(password, testing::ContainsRegex("[a-z]"));
  EXPECT_THAT(password, testing::ContainsRegex("[A-Z]"));
  EXPECT_THAT(password, testing::ContainsRegex("[0-9]"));
  EXPECT_THAT(node.driver_data.text, testing::Not(HasSubstr(password)));
  EXPECT_FALSE(
      body["properties"]["osProfile"]["linuxConfiguration"]["disablePasswordAuthentication"]
          .get<bool>());
}

// An upload in this fixture's cloud of a file with an empty range between two others.
class AzureUpload : public AzureContract {
 protected:
  static constexpr std::size_t kRange = std::size_t{4} << 20;

  async::Task<> upload() {
    driver::ProviderImage image;
    image.name = kDiskimage;
    driver::ImageFile file;
    file.path = path_;
    file.size = content_.size();
    const driver::Metadata tags = {{"nodepool_upload_id", "1"}};
    co_await provider().images()->upload(image, "trixie-1", file, tags, {});
  }

  test_support::TemporaryDirectory directory_;
  std::string content_ = std::string(kRange, 'a') + std::string(kRange, '\0') +
                         std::string(kRange, 'b') + StandIn::vhd_footer();
  std::string path_ = directory_.write("image.vhd", content_);
};

INSTANTIATE_TEST_SUITE_P(azure, AzureUpload, testing::Values(backend<AzureFixture>()));

TEST_P(AzureUpload, it_sends_ranges_that_are_not_empty) {
  start();
  process_->run(upload());
  EXPECT_EQ(azure().count("PUT blob"), 3U);
  const StandIn::Resource* image = azure().find("images", "trixie-1");
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(image->body["tags"]["nodepool_upload_id"], "1");
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
}

// The last range fails for good, and the builder dies before it deletes the disk.
TEST_P(AzureUpload, it_is_resumed_where_it_was) {
  StandIn::Resource& disk =
      azure().add("disks", "trixie-1",
                  {{"tags", {{"nodepool_upload_id", "1"}}},
                   {"properties", {{"creationData", {{"uploadSizeBytes", content_.size()}}}}}});
  disk.disk_state = "ActiveUpload";
  disk.blob = content_;
  disk.written = {{0, kRange - 1}, {3 * kRange, 3 * kRange + 511}};
  start();
  process_->run(upload());
  EXPECT_EQ(azure().count("PUT disks/NAME"), 0U);
  EXPECT_EQ(azure().count("PUT blob"), 1U);
  EXPECT_NE(azure().find("images", "trixie-1"), nullptr);
}

TEST_P(AzureUpload, a_disk_without_the_footer_of_a_vhd_is_deleted) {
  directory_.write("image.vhd", std::string(content_.size(), 'c'));
  start();
  const auto job = process_->begin(upload());
  finish(job);
  EXPECT_THAT(job->failure(), HasSubstr("InvalidVhd"));
  EXPECT_EQ(azure().find("images", "trixie-1"), nullptr);
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
}

// As the search for leaks does it, after a builder has died.
TEST_P(AzureUpload, the_disk_of_an_interrupted_upload_is_deleted) {
  StandIn::Resource& disk =
      azure().add("disks", "trixie-1", {{"tags", {{"nodepool_upload_id", "1"}}}});
  disk.disk_state = "ActiveUpload";
  disk.is_accessible = true;
  disk.blob = std::string(content_.size(), '\0');
  start();
  process_->run(provider().images()->remove("trixie-1", "trixie-1"));
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
}

// A deletion would be refused.
TEST_P(AzureUpload, a_disk_is_deleted_after_an_outage_while_its_access_ends) {
  const StandIn::Json tags = {{"nodepool_upload_id", "1"}};
  azure().add("images", "trixie-1", {{"tags", tags}});
  StandIn::Resource& disk = azure().add("disks", "trixie-1", {{"tags", tags}});
  disk.disk_state = "ActiveUpload";
  disk.is_accessible = true;
  disk.blob = content_;
  azure().fail("POST disks/NAME/endGetAccess", std::vector<StandIn::Failure>(kAttempts));
  start();
  process_->run(upload());
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
  EXPECT_EQ(azure().count("DELETE disks/NAME"), 1U);
}

TEST_P(AzureUpload, a_signature_is_in_no_error) {
  azure().fail("PUT blob", std::vector<StandIn::Failure>(
                               3, {.status = 400, .code = "x", .message = "?sig=SIGNATURE"}));
  start();
  const auto job = process_->begin(upload());
  finish(job);
  EXPECT_THAT(job->failure(), HasSubstr("azure: write to disk"));
  EXPECT_THAT(job->failure(), testing::Not(HasSubstr("SIGNATURE")));
  EXPECT_EQ(azure().find("disks", "trixie-1"), nullptr);
}

TEST_P(AzureContract, all_pages_are_listed) {
  azure().page = 2;
  for (int i = 0; i < 5; ++i) cloud_->add_machine({});
  expect_one_machine(launch_new().id);
  const driver::Limits available = process_->run(provider().available());
  EXPECT_EQ(available.at("instances"), 100 - 5);
}

TEST_P(AzureContract, a_size_that_is_offered_now_is_noticed) {
  azure().offers_size = false;
  start();
  process_->run(provider().available());
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).problem,
            "location l does not offer the subscription size standard_d2s_v3");
  azure().offers_size = true;
  process_->pass(std::chrono::minutes(6));
  process_->run(provider().available());
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).problem, "");
}

// Azure may not know the location by this name.
TEST_P(AzureContract, a_location_without_sizes_declines_no_label) {
  azure().has_size = false;
  start();
  const auto job = finish(process_->begin(read_available()));
  EXPECT_THAT(job->failure(), HasSubstr("there are none in location l"));
  EXPECT_EQ(provider().offer()->label(kPool, kLabel).problem, "");
}

TEST_P(AzureContract, what_the_configuration_names_and_the_cloud_lacks_is_reported) {
  start();
  EXPECT_THAT(process_->run(provider().missing_in_cloud()), IsEmpty());
}

// Azure tells how many calls it will still accept.
TEST_P(AzureContract, calls_slow_down_before_azure_refuses_them) {
  start();
  const auto begun = installation_.clock.now();
  launch_new();
  const auto usual = installation_.clock.now() - begun;
  azure().headers = "x-ms-ratelimit-remaining-subscription-writes: 4\r\n";
  const auto again = installation_.clock.now();
  launch_new();
  EXPECT_GT(installation_.clock.now() - again, usual + std::chrono::seconds(10));
}

TEST_P(AzureContract, a_token_serves_many_calls_and_is_renewed) {
  launch_new();
  launch_new();
  EXPECT_EQ(azure().count("POST token"), 1U);
  process_->pass(std::chrono::minutes(58));
  launch_new();
  EXPECT_EQ(azure().count("POST token"), 2U);
  azure().expire_tokens();
  launch_new();
  EXPECT_EQ(azure().count("POST token"), 3U);
}

// --- images

// Uploads of a small file, all with the same name.
class AzureImageContract : public AzureContract {
 protected:
  static constexpr const char* kName = "trixie-1700000000";

  driver::Metadata tags(const std::string& upload) {
    return {{std::string(driver::kUploadIdKey), upload},
            {std::string(driver::kProviderNameKey), kProvider}};
  }

  std::string upload(const std::string& id) {
    driver::ProviderImage image;
    image.name = kDiskimage;
    driver::ImageFile file;
    file.path = directory_.write("image.vhd", std::string(512, 'x') + StandIn::vhd_footer());
    file.format = "vhd";
    file.size = 1024;
    return process_->run(provider().images()->upload(image, kName, file, tags(id), {}));
  }

  test_support::TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(azure, AzureImageContract, testing::Values(backend<AzureFixture>()));

TEST_P(AzureImageContract, an_upload_survives_an_outage_at_each_step) {
  start();
  const std::vector<StandIn::Failure> outage(2 * kAttempts, {.status = 503});
  for (const char* call :
       {"GET images/NAME", "GET disks/NAME", "PUT disks/NAME", "POST disks/NAME/beginGetAccess",
        "PUT blob", "POST disks/NAME/endGetAccess", "PUT images/NAME", "DELETE disks/NAME"}) {
    azure().fail(call, outage);
  }
  EXPECT_EQ(upload("1"), kName);
  EXPECT_THAT(azure().all("images"), SizeIs(1));
  process_->pass(std::chrono::seconds(10));
  EXPECT_THAT(azure().all("disks"), IsEmpty());
  EXPECT_EQ(azure().count("PUT blob"), 2 * kAttempts + 1);
}

TEST_P(AzureImageContract, an_upload_survives_an_outage_of_the_login_service) {
  start();
  azure().expire_tokens();
  azure().fail("POST token", std::vector<StandIn::Failure>(2 * kAttempts, {.status = 503}));
  EXPECT_EQ(upload("1"), kName);
  EXPECT_THAT(azure().all("images"), SizeIs(1));
}

TEST_P(AzureImageContract, an_upload_leaves_the_image_of_another_one_with_its_name) {
  start();
  upload("1");
  EXPECT_THROW(upload("2"), driver::CloudError);
  ASSERT_NE(azure().find("images", kName), nullptr);
  EXPECT_FALSE(azure().find("images", kName)->deleted);
}

TEST_P(AzureImageContract, an_upload_leaves_the_disk_of_another_one_with_its_name) {
  start();
  azure().add("disks", kName, {{"tags", tags("1")}}).disk_state = "ActiveUpload";
  EXPECT_THROW(upload("2"), driver::CloudError);
  ASSERT_NE(azure().find("disks", kName), nullptr);
  EXPECT_FALSE(azure().find("disks", kName)->deleted);
  EXPECT_EQ(azure().count("PUT blob"), 0U);
}

}  // namespace nodepool::drivers::contract
