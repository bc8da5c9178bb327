#include "tests/drivers/ibmvpc/ibmvpc_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "async/live_tasks.h"
#include "driver/ownership.h"
#include "drivers/ibmvpc/ibmvpc_driver.h"
#include "drivers/ibmvpc/image_names.h"
#include "drivers/ibmvpc/owner_names.h"

namespace nodepool::drivers::contract {

using ibmvpc::StandIn;

namespace {

constexpr const char* kConfiguration = R"(
diskimages: [{{name: trixie, username: ci}}]
labels: [{{name: small}}, {{name: built}}]
providers:
  - name: fake-contract
    driver: ibmvpc
    vpc: net
    region: north
    zone: north-1
    subnet: inner
    rate: {}
    launch-timeout: 900
    public-ipv4: {}
    host-key-checking: false
    quota: {{instances: {}}}
    object-storage: {{instance-name: any, endpoint: "{}", bucket-name: ci-images}}
    diskimages: [{{name: trixie, operating-system: debian-12-amd64}}]
    cloud-images:
      - {{name: debian, image-name: debian, username: ci, keys: [ci]}}
    pools:
      - name: main
        max-servers: 100
        labels:
          - {{name: small, cloud-image: debian, profile: bx2-2x8, user-data: "#!/bin/sh"}}
          - {{name: built, diskimage: trixie, profile: bx2-2x8}}
)";

bool waits_for_answer(const async::LiveTask& task) {
  return std::ranges::any_of(
      task.waits, [](const async::LiveTask::Wait& wait) { return wait.what.starts_with("http:"); });
}

}  // namespace

std::unique_ptr<driver::Provider> IbmVpcFixture::make_provider(driver::ProviderContext context) {
  const ibmvpc::IbmVpcDriver driver({{"VPC_APIKEY", "key/of test"},
                                     {"VPC_AUTH_URL", cloud_.url()},
                                     {"VPC_URL", cloud_.url() + "/v1"},
                                     {"RESOURCE_MANAGER_URL", cloud_.url()}});
  launcher_ = context.runtime.executor;
  const std::string text =
      fmt::format(kConfiguration, rate, has_floating_ips, cloud_.capacity, cloud_.url());
  return driver.provider(read_provider(driver, text), std::move(context));
}

// Names are used again, ids are not.
std::string IbmVpcFixture::machine_of(const model::Node& node) {
  for (const auto& [id, instance] : cloud_.instances) {
    if (instance.name == node.external_id_text()) return id;
  }
  return {};
}

std::string IbmVpcFixture::image_name(const std::string& /*name*/,
                                      const driver::Metadata& metadata) {
  return ibmvpc::image_name(metadata);
}

// Floating IPs without an instance count as machines, so that the suite finds them.
std::vector<Machine> IbmVpcFixture::machines() {
  cloud_.settle();
  std::vector<Machine> all;
  std::set<std::string> names;
  for (const auto& [id, instance] : cloud_.instances) {
    names.insert(instance.name);
    all.push_back({id, ibmvpc::owner_tags(instance.name, instance.group, instance.boot_disk_name)});
  }
  for (const auto& [id, ip] : cloud_.floating_ips) {
    if (!names.contains(ip.name)) all.push_back({id, ibmvpc::owner_tags(ip.name, ip.group, "")});
  }
  return all;
}

void IbmVpcFixture::provoke(Trouble trouble, std::size_t times) {
  using Failure = StandIn::Failure;
  const auto fail = [&](const char* call, std::size_t calls, const Failure& failure) {
    cloud_.fail(call, std::vector<Failure>(calls, failure));
  };
  const Failure bad_request{.status = 400, .code = "bad_request"};
  switch (trouble) {
    case Trouble::quota:
      return fail("POST instances", times, {.status = 400, .code = "over_quota"});
    case Trouble::no_capacity:
      cloud_.reasons.assign(times, "cannot_start_capacity");
      return;
    case Trouble::creation_error:
      return fail("POST instances", times, bad_request);
    case Trouble::broken_machine:
      cloud_.reasons.assign(times, "cannot_start_compute");
      return;
    case Trouble::response_lost:
      return fail("POST instances", times, {.status = -1});
    case Trouble::request_lost:
      return fail("POST instances", times, {.status = 0});
    case Trouble::deletion_error:
      return fail("DELETE instances/ID", times, bad_request);
    case Trouble::listing_error:
      return fail("GET instances", times * kAttempts, {.status = 503});
    case Trouble::listing_failed:
      return fail("GET instances", times, bad_request);
    case Trouble::limits_error:  // they are configured
      return;
    case Trouble::image_error:
      return fail("POST images", times, bad_request);
    case Trouble::busy:
      return provoke_busy(times);
    case Trouble::token_expired:
      return cloud_.fail_any(
          std::vector<Failure>(times, {.status = 401, .code = "not_authorized"}));
  }
}

void IbmVpcFixture::add_machine(driver::Metadata metadata) {
  const std::string provider = driver::value_of(metadata, driver::kProviderNameKey);
  const std::string installation = driver::value_of(metadata, driver::kInstallationIdKey);
  StandIn::Instance machine{.name = "other-" + std::to_string(++others_),
                            .group = "Default",
                            .boot_disk_name = ibmvpc::boot_disk_name(metadata),
                            .made = {}};
  if (!provider.empty()) machine.group = ibmvpc::group_name(provider, kPool);
  // Two machines cannot have the name of one node: "np01" is the machine of node 1, elsewhere.
  const bool is_ours = installation == harness::kInstallationId;
  if (provider == kProvider) {
    machine.name = (is_ours ? "np" : "np0") + driver::value_of(metadata, driver::kNodeIdKey);
  }
  cloud_.add_instance(std::move(machine));
}

// The wire is silent when every call that waits for an answer is one that the cloud holds back.
bool IbmVpcFixture::wait_for_wire() {
  const bool cloud_ran = loop_.poll();
  const auto tasks = async::live_tasks(launcher_);
  const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits_for_answer));
  return cloud_ran || calls > cloud_.held_back();
}

void IbmVpcFixture::provoke_busy(std::size_t times) {
  const std::vector<StandIn::Failure> kinds = {
      {.status = 429, .code = "too_many_requests", .headers = "Retry-After: 1\r\n"},
      {.status = 503, .headers = "Retry-After: 1\r\n"}};
  std::vector<StandIn::Failure> failures;
  for (std::size_t i = 0; i < times; ++i) failures.push_back(kinds[i % kinds.size()]);
  cloud_.fail_any(failures);
}

}  // namespace nodepool::drivers::contract
