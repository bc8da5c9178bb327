#include "tests/drivers/azure/azure_fixture.h"

#include <fmt/format.h>

#include <algorithm>

#include "async/live_tasks.h"
#include "driver/ownership.h"
#include "drivers/azure/azure_driver.h"

namespace nodepool::drivers::contract {

using azure::StandIn;

namespace {

constexpr const char* kConfiguration = R"(
labels: [{{name: small}}, {{name: built}}]
diskimages: [{{name: trixie, elements: [vm], username: ci}}]
providers:
  - name: fake-contract
    driver: azure
    location: l
    resource-group: rg
    resource-group-location: l
    auth-path: ''
    network: net
    rate: {}
    launch-timeout: 900
    diskimages: [{{name: trixie, key: ssh-rsa A}}]
    cloud-images:
      - {{name: debian, image-id: /debian, username: ci, key: ssh-rsa A, generate-password: true}}
    pools:
      - name: main
        max-servers: 100
        host-key-checking: false
        public-ipv6: true
        labels:
          - {{name: small, cloud-image: debian, hardware-profile: {{vm-size: standard_d2s_v3}}}}
          - {{name: built, diskimage: trixie, hardware-profile: {{vm-size: Standard_D2s_v3}}}}
)";

// The same if it is unknown whether it was carried out. libcurl itself retries once on a connection
// that has been used before.
constexpr std::size_t kUnansweredAttempts = 3;

bool waits_for_answer(const async::LiveTask& task) {
  return std::ranges::any_of(
      task.waits, [](const async::LiveTask::Wait& wait) { return wait.what.starts_with("http:"); });
}

}  // namespace

std::unique_ptr<driver::Provider> AzureFixture::make_provider(driver::ProviderContext context) {
  const azure::AzureDriver driver(
      {{"AZURE_AUTH_LOCATION", directory_.write("auth.json", cloud_.auth_file())}});
  launcher_ = context.runtime.executor;
  const std::string text = fmt::format(kConfiguration, rate);
  return driver.provider(read_provider(driver, text), std::move(context));
}

std::string AzureFixture::machine_of(const model::Node& node) {
  const auto* machine = cloud_.find("virtualMachines", node.external_id_text());
  return machine == nullptr ? "" : id_of(*machine);
}

std::vector<Machine> AzureFixture::machines() {
  std::vector<Machine> all;
  for (StandIn::Resource* machine : cloud_.all("virtualMachines")) {
    driver::Metadata metadata;
    for (const auto& [key, value] : machine->body["tags"].items()) metadata[key] = value;
    all.push_back({id_of(*machine), std::move(metadata)});
  }
  return all;
}

void AzureFixture::provoke(Trouble trouble, std::size_t times) {
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

// Only machines of this installation have the names of its nodes.
void AzureFixture::add_machine(driver::Metadata metadata) {
  const bool is_ours =
      driver::value_of(metadata, driver::kProviderNameKey) == kProvider &&
      driver::value_of(metadata, driver::kInstallationIdKey) == harness::kInstallationId;
  const std::string name = is_ours ? "np" + driver::value_of(metadata, driver::kNodeIdKey)
                                   : "other-" + std::to_string(++others_);
  cloud_.add(
      "virtualMachines", name,
      {{"tags", metadata}, {"properties", {{"hardwareProfile", {{"vmSize", "Standard_D2s_v3"}}}}}});
}

void AzureFixture::end_machine(const std::string& id) {
  for (StandIn::Resource* machine : cloud_.all("virtualMachines")) {
    if (id_of(*machine) == id) machine->is_hanging = true;
  }
}

// The wire is silent when every call that waits for an answer is one that the cloud holds back.
bool AzureFixture::wait_for_wire() {
  const bool cloud_ran = loop_.poll();
  const auto tasks = async::live_tasks(launcher_);
  const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits_for_answer));
  return cloud_ran || calls > cloud_.held_back();
}

void AzureFixture::provoke_busy(std::size_t times) {
  const std::vector<StandIn::Failure> kinds = {
      {.status = 429, .code = "SubscriptionRequestsThrottled", .headers = "Retry-After: 1\r\n"},
      {.status = 503, .headers = "Retry-After: 1\r\n"},
      {.status = 429, .code = "RetryableError"}};
  std::vector<StandIn::Failure> failures;
  for (std::size_t i = 0; i < times; ++i) failures.push_back(kinds[i % kinds.size()]);
  cloud_.fail_any(failures);
}

std::size_t AzureContract::count_of_all() {
  std::size_t all = 0;
  for (const char* type : {"virtualMachines", "networkInterfaces", "publicIPAddresses", "disks"}) {
    all += azure().all(type).size();
  }
  return all;
}

}  // namespace nodepool::drivers::contract
