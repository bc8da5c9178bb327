#include "drivers/openstack/cloud_view.h"

#include <algorithm>

#include "driver/cloud_error.h"
#include "driver/if_exists.h"
#include "drivers/openstack/api/classify.h"
#include "drivers/openstack/flavors.h"

namespace nodepool::drivers::openstack {

using async::Task;
using driver::CloudError;

namespace {

constexpr auto kUntilForgotten = std::chrono::hours(24 * 365);

bool is_active(const Image& image) {
  return image.status == "active";
}

}  // namespace

CloudView::CloudView(const async::Runtime& runtime, CloudApi& api, const Cloud& cloud,
                     const PollPolicy& poll_policy, telemetry::Logger log)
    : runtime_(runtime),
      api_(api),
      cloud_(cloud),
      poll_policy_(poll_policy),
      log_(std::move(log)),
      servers_(runtime, "OpenStack servers",
               {.unknown = poll_policy.poll, .least = poll_policy.expected_poll},
               [this] { return cloud::ById<Server>::of(api_.compute().servers()); }),
      floating_ips_(runtime, "OpenStack floating IPs", [this] { return ask_floating_ips(); }),
      volumes_(runtime, "OpenStack volumes", [this] { return ask_volumes(); }),
      known_volumes_(runtime, log_, "volumes", Volumes::unknown()),
      volume_limits_(runtime, log_, "limits of volumes", driver::Limits{}),
      flavors_(runtime, "OpenStack flavors",
               [this] { return Flavors::of(api_.compute().flavors()); }),
      topology_(runtime, "OpenStack networks", [this] { return ask_topology(); }),
      known_topology_(runtime, log_, "networks", Topology{}),
      zones_(runtime, "OpenStack zones", [this] { return api_.compute().zones(); }) {}

Task<std::shared_ptr<const CloudView::FloatingIps>> CloudView::floating_ips() {
  return floating_ips_.get(poll_policy_.poll);
}

Task<std::shared_ptr<const CloudView::Volumes>> CloudView::volumes_for(
    std::span<const Server> servers) {
  const bool has_volume =
      std::ranges::any_of(servers, [](const Server& server) { return !server.volumes.empty(); });
  if (!has_volume) co_return std::make_shared<const Volumes>(std::vector<Volume>{});
  co_return co_await volumes_.get(poll_policy_.poll);
}

Task<std::shared_ptr<const CloudView::Volumes>> CloudView::known_volumes_for(
    std::span<const Server> servers) {
  const cloud::LastKnown<Volumes>::Ask ask = [this, servers] { return volumes_for(servers); };
  co_return co_await known_volumes_.get(ask);
}

Task<std::shared_ptr<const driver::Limits>> CloudView::volume_limits() {
  const cloud::LastKnown<driver::Limits>::Ask ask = [this] { return ask_volume_limits(); };
  co_return co_await volume_limits_.get(ask);
}

Task<std::shared_ptr<const driver::Limits>> CloudView::ask_volume_limits() {
  driver::Limits limits;
  const bool exists = co_await api_.has_volume();
  if (exists) limits = co_await api_.volume().limits();
  co_return std::make_shared<const driver::Limits>(std::move(limits));
}

Task<std::shared_ptr<const CloudView::Flavors>> CloudView::flavors() {
  return flavors_.get(kUntilForgotten);
}

Task<std::shared_ptr<const Topology>> CloudView::topology() {
  std::shared_ptr<const Topology> topology = co_await topology_.get(kUntilForgotten);
  if (topology->refusal) topology = co_await topology_.get(poll_policy_.missing);
  co_return topology;
}

Task<std::shared_ptr<const Topology>> CloudView::known_topology() {
  const cloud::LastKnown<Topology>::Ask ask = [this] { return topology(); };
  co_return co_await known_topology_.get(ask);
}

Task<std::shared_ptr<const std::vector<std::string>>> CloudView::zones() {
  return zones_.get(kUntilForgotten);
}

Task<CloudView::FloatingIps> CloudView::ask_floating_ips() {
  if (!cloud_.has_floating_ips) co_return FloatingIps{};
  if (!cloud_.has_network) co_return FloatingIps{.all = {}, .is_missing = true};
  const bool exists = co_await api_.has_network();
  if (!exists) co_return FloatingIps{};
  auto listed = co_await driver::if_exists(api_.network().floating_ips());
  if (!listed) co_return FloatingIps{.all = {}, .is_missing = true};
  co_return FloatingIps{.all = std::move(*listed)};
}

Task<CloudView::Volumes> CloudView::ask_volumes() {
  const bool exists = co_await api_.has_volume();
  if (!exists) co_return Volumes({});
  co_return co_await Volumes::of(api_.volume().volumes());
}

Task<Topology> CloudView::ask_topology() {
  const bool exists = co_await api_.has_network();
  if (!exists) co_return Topology{};
  try {
    std::vector<Network> networks = co_await api_.network().networks();
    const std::vector<Subnet> subnets = co_await api_.network().subnets();
    has_listed_networks_ = true;
    co_return make_topology(std::move(networks), subnets, cloud_);
  } catch (const CloudError& error) {
    const bool may_be_unusable = !has_listed_networks_ && cloud_.networks.empty();
    if (!is_refusal(error) || !may_be_unusable) throw;
    if (!std::exchange(is_refusal_logged_, true)) {
      log_.warning(
          "Networks cannot be listed, so there are no floating IPs and no names of networks: {}",
          error.what());
    }
    Topology unknown;
    unknown.refusal = error;
    co_return unknown;
  }
}

Task<CloudView::ImageId> CloudView::ask_image(std::string name) {
  const std::vector<Image> named = co_await api_.image().images_called(name);
  const auto active = std::ranges::find_if(named, is_active);
  if (active != named.end()) co_return active->id;
  const std::optional<Image> image = co_await api_.image().find(std::move(name));
  if (image && is_active(*image)) co_return image->id;
  co_return std::nullopt;
}

Task<Flavor> CloudView::flavor(const OpenStackLabel& label) {
  for (const async::Duration max_age : {async::Duration(kUntilForgotten), poll_policy_.missing}) {
    const auto flavors = co_await flavors_.get(max_age);
    if (const Flavor* chosen = choose_flavor(flavors->all(), label)) co_return *chosen;
  }
  throw CloudError(CloudError::Kind::permanent,
                   "the cloud has no flavor " + describe_flavor(label));
}

Task<std::vector<std::string>> CloudView::network_ids(std::vector<std::string> names) {
  std::vector<std::string> ids;
  for (const std::string& name : names) {
    std::shared_ptr<const Topology> topology = co_await this->topology();
    if (topology->find(name) == nullptr) topology = co_await topology_.get(poll_policy_.missing);
    const Network* network = topology->find(name);
    if (network == nullptr) {
      throw CloudError(CloudError::Kind::failed, "the cloud has no network `" + name + "`");
    }
    ids.push_back(network->id);
  }
  co_return ids;
}

Task<std::optional<std::string>> CloudView::image_id(CloudImageReference image) {
  if (!image.id.empty()) co_return image.id;
  auto& lookup = images_[image.name];
  if (!lookup) {
    lookup = std::make_unique<async::SharedResult<ImageId>>(
        runtime_, "an OpenStack image", [this, name = image.name] { return ask_image(name); });
  }
  async::SharedResult<ImageId>& answer = *lookup;
  std::shared_ptr<const ImageId> id = co_await answer.get(kUntilForgotten);
  if (!*id) id = co_await answer.get(poll_policy_.missing);
  co_return *id;
}

void CloudView::forget() {
  flavors_.drop();
  topology_.drop();
  zones_.drop();
  for (const auto& [name, answer] : images_) answer->drop();
}

Task<> CloudView::stop() {
  co_await servers_.stop();
  co_await floating_ips_.stop();
  co_await volumes_.stop();
  co_await flavors_.stop();
  co_await topology_.stop();
  co_await zones_.stop();
  for (const auto& [name, answer] : images_) co_await answer->stop();
}

}  // namespace nodepool::drivers::openstack
