#include "drivers/ibmvpc/cloud_view.h"

#include <algorithm>

#include "driver/cloud_error.h"

namespace nodepool::drivers::ibmvpc {

using async::Task;
using driver::CloudError;

namespace {

// Minimum between two polls if the expected boot time is known.
constexpr async::Duration kExpectedPollInterval = std::chrono::seconds(1);

bool is_of(const VpcImage& image, const VpcImageSource& source) {
  if (!source.name.empty()) return image.name == source.name;
  const bool is_same_system = std::ranges::all_of(source.operating_system, [&](const auto& wanted) {
    const auto found = image.operating_system.find(wanted.first);
    return found != image.operating_system.end() && found->second == wanted.second;
  });
  return is_same_system && (source.owner_type.empty() || source.owner_type == image.owner_type) &&
         (source.status.empty() || source.status == image.status);
}

std::map<std::string, std::string, std::less<>> ids_of(const std::vector<VpcThing>& things) {
  std::map<std::string, std::string, std::less<>> ids;
  for (const VpcThing& thing : things) ids.emplace(thing.name, thing.id);
  return ids;
}

}  // namespace

const VpcThing* RegionCatalog::subnet(const std::string& vpc, const std::string& name) const {
  const auto id = vpcs.find(vpc);
  if (id == vpcs.end()) return nullptr;
  const auto found = subnets.find({id->second, name});
  return found == subnets.end() ? nullptr : &found->second;
}

CloudView::CloudView(const async::Runtime& runtime, VpcApi& api)
    : api_(api),
      instances_(runtime, "instances", {.unknown = kPollInterval, .least = kExpectedPollInterval},
                 [this] { return InstanceList::of(api_.instances()); }),
      floating_ips_(runtime, "floating IPs",
                    {.unknown = kPollInterval, .least = kExpectedPollInterval},
                    [this] { return FloatingIpList::of(api_.floating_ips()); }),
      catalog_(runtime, "a region", [this] { return ask_catalog(); }),
      images_(runtime, "images", [this] { return api_.images(); }),
      groups_(runtime, "resource groups", [this] { return ask_groups(); }) {}

Task<RegionCatalog> CloudView::ask_catalog() {
  RegionCatalog catalog;
  const std::vector<VpcThing> vpcs = co_await api_.vpcs();
  const std::vector<VpcThing> keys = co_await api_.keys();
  const std::vector<VpcThing> subnets = co_await api_.subnets();
  const std::vector<VpcProfile> profiles = co_await api_.profiles();
  catalog.vpcs = ids_of(vpcs);
  catalog.keys = ids_of(keys);
  for (const VpcThing& subnet : subnets)
    catalog.subnets.emplace(std::pair(subnet.vpc, subnet.name), subnet);
  for (const VpcProfile& profile : profiles) catalog.profiles.emplace(profile.name, profile);
  co_return catalog;
}

Task<CloudView::Groups> CloudView::ask_groups() {
  const std::vector<VpcThing> groups = co_await api_.groups();
  co_return ids_of(groups);
}

Task<std::optional<VpcImage>> CloudView::image(VpcImageSource source) {
  const auto images = co_await images_.get(kCatalogAge);
  const auto found =
      std::ranges::find_if(*images, [&](const VpcImage& image) { return is_of(image, source); });
  co_return found == images->end() ? std::nullopt : std::optional(*found);
}

// Another launcher may make the group at the same time.
Task<std::string> CloudView::group(std::string name) {
  auto groups = co_await groups_.get(kCatalogAge);
  auto found = groups->find(name);
  if (found != groups->end()) co_return found->second;
  std::optional<CloudError> failure;
  try {
    co_await api_.make_group(name);
  } catch (const CloudError& error) {
    failure = error;
  }
  groups_.drop();
  groups = co_await groups_.get(async::Duration::zero());
  found = groups->find(name);
  if (found != groups->end()) co_return found->second;
  if (failure) throw CloudError(*failure);
  throw CloudError(CloudError::Kind::failed, "resource group " + name + " is not listed");
}

void CloudView::forget_names() {
  catalog_.drop();
  images_.drop();
  groups_.drop();
}

Task<> CloudView::stop() {
  co_await instances_.stop();
  co_await floating_ips_.stop();
  co_await catalog_.stop();
  co_await images_.stop();
  co_await groups_.stop();
}

}  // namespace nodepool::drivers::ibmvpc
