#include "drivers/fake/fake_cloud.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodepool::drivers::fake {

using driver::CloudError;
using driver::CloudImage;
using driver::Resources;

namespace {

constexpr const char* kAddress = "fake";
constexpr const char* kAddress6 = "fake_v6";
constexpr const char* kNetworkWithoutPublicAddress = "no-auto-ip-network-name";
constexpr const char* kNetworkWithIpv6 = "fake-ipv6-network-name";

const FakeFlavor& flavor_of(const std::string& name) {
  const auto& all = FakeCloud::flavors();
  const auto found = std::ranges::find(all, name, &FakeFlavor::name);
  if (found == all.end()) throw CloudError(CloudError::Kind::failed, "no flavor " + name);
  return *found;
}

void give_addresses(FakeServer& server) {
  const auto has = [&](const char* network) {
    return std::ranges::find(server.spec.networks, network) != server.spec.networks.end();
  };
  server.private_ipv4 = kAddress;
  if (!has(kNetworkWithoutPublicAddress)) server.public_ipv4 = kAddress;
  if (has(kNetworkWithIpv6)) server.public_ipv6 = kAddress6;
}

Resources instance_resources(const ServerSpec& spec) {
  const FakeFlavor& flavor = flavor_of(spec.flavor);
  Resources resources({{"instances", 1}, {"cores", flavor.cores}, {"ram", flavor.ram}});
  if (spec.volume_gb > 0) {
    resources += Resources({{"volumes", 1}, {"volume-gb", static_cast<double>(spec.volume_gb)}});
  }
  return resources;
}

}  // namespace

FakeCloud::FakeCloud() {
  add_image({.id = "fake-image-id", .name = "Fake Precise", .metadata = {}});
}

const std::vector<FakeFlavor>& FakeCloud::flavors() {
  static const std::vector<FakeFlavor> kFlavors{{"Fake Flavor", 8192, 4},
                                                {"Unreal Flavor", 8192, 4}};
  return kFlavors;
}

const std::vector<std::string>& FakeCloud::zones() {
  static const std::vector<std::string> kZones{"az1", "az2"};
  return kZones;
}

// --- machines

void FakeCloud::create(std::string id, ServerSpec spec, bool is_broken, TimePoint now) {
  forget_gone(now);
  if (spec.zone.empty()) spec.zone = zones().front();
  if (std::ranges::find(zones(), spec.zone) == zones().end()) {
    throw CloudError(CloudError::Kind::failed, "no availability zone " + spec.zone);
  }
  FakeServer server;
  server.id = id;
  server.resources = instance_resources(spec);
  Resources used;
  for (const auto& [other, machine] : machines_) used += machine.server.resources;
  if (const auto excess = driver::excess(behaviour.limits, used, server.resources)) {
    throw CloudError(CloudError::Kind::quota, "Quota exceeded for " + to_string(*excess));
  }
  if (to_be_broken_ > 0) {
    --to_be_broken_;
    is_broken = true;
  }
  server.spec = std::move(spec);
  give_addresses(server);
  machines_.emplace(std::move(id), Machine{.server = std::move(server),
                                           .up_at = now + behaviour.boot_time,
                                           .is_broken = is_broken,
                                           .gone_at = {}});
}

void FakeCloud::remove(const std::string& id, TimePoint now) {
  forget_gone(now);
  const auto found = machines_.find(id);
  if (found == machines_.end()) {
    throw CloudError(CloudError::Kind::not_found, "no server " + id);
  }
  if (!found->second.gone_at) found->second.gone_at = now + behaviour.delete_time;
}

std::vector<FakeServer> FakeCloud::servers(TimePoint now) {
  forget_gone(now);
  std::vector<FakeServer> all;
  all.reserve(machines_.size());
  for (const auto& [id, machine] : machines_) all.push_back(seen(machine, now));
  return all;
}

std::optional<FakeServer> FakeCloud::server(const std::string& id, TimePoint now) {
  forget_gone(now);
  const auto found = machines_.find(id);
  if (found == machines_.end()) return std::nullopt;
  return seen(found->second, now);
}

void FakeCloud::forget_gone(TimePoint now) {
  std::erase_if(machines_, [now](const auto& entry) {
    return entry.second.gone_at && *entry.second.gone_at <= now;
  });
}

FakeServer FakeCloud::seen(const Machine& machine, TimePoint now) {
  FakeServer server = machine.server;
  if (machine.up_at <= now) {
    server.status = machine.is_broken ? FakeServer::Status::error : FakeServer::Status::active;
  }
  return server;
}

// --- images

void FakeCloud::add_image(CloudImage image) {
  std::string id = image.id;
  images_.insert_or_assign(std::move(id), std::move(image));
}

void FakeCloud::remove_image(const std::string& id) {
  if (images_.erase(id) == 0) throw CloudError(CloudError::Kind::not_found, "no image " + id);
}

std::vector<CloudImage> FakeCloud::images() const {
  std::vector<CloudImage> all;
  all.reserve(images_.size());
  for (const auto& [id, image] : images_) all.push_back(image);
  return all;
}

std::optional<CloudImage> FakeCloud::image(std::string_view id_or_name) const {
  for (const auto& [id, image] : images_) {
    if (id == id_or_name || image.name == id_or_name) return image;
  }
  return std::nullopt;
}

// --- failures

void FakeCloud::fail_next(CloudCall call, FakeFailure failure, std::size_t times) {
  failures_[call] = {failure, times};
}

std::optional<FakeFailure> FakeCloud::take_failure(CloudCall call) {
  auto& [failure, times] = failures_[call];
  if (times == 0) return std::nullopt;
  --times;
  return failure;
}

std::shared_ptr<FakeCloud> FakeClouds::cloud(const std::string& name) {
  std::shared_ptr<FakeCloud>& cloud = clouds_[name];
  if (!cloud) cloud = std::make_shared<FakeCloud>();
  return cloud;
}

}  // namespace nodepool::drivers::fake
