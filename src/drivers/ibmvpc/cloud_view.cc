#include "drivers/ibmvpc/cloud_view.h"

#include <fmt/format.h>

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

// The list of at most `max_age` if it has what is looked for, otherwise one of at most kCatalogAge.
// `from` outlives the call.
template <typename List, typename Has>
Task<std::shared_ptr<const List>> look_up(async::SharedResult<List>& from, async::Duration max_age,
                                          Has has) {
  const std::shared_ptr<const List> list = co_await from.get(max_age);
  if (has(*list)) co_return list;
  co_return co_await from.get(kCatalogAge);
}

}  // namespace

const VpcThing* RegionNames::subnet(const std::string& vpc, const std::string& name) const {
  const auto id = vpcs.find(vpc);
  if (id == vpcs.end()) return nullptr;
  const auto found = subnets.find({id->second, name});
  return found == subnets.end() ? nullptr : &found->second;
}

std::optional<std::string> RegionNames::lack_of(const std::string& vpc,
                                                const VpcLabel& label) const {
  if (!vpcs.contains(vpc)) return fmt::format("there is no VPC `{}`", vpc);
  const VpcThing* found = subnet(vpc, label.subnet);
  if (found == nullptr) return fmt::format("the VPC `{}` has no subnet `{}`", vpc, label.subnet);
  if (found->zone != label.zone) {
    return fmt::format("the subnet `{}` is in zone `{}`, not in `{}`", label.subnet, found->zone,
                       label.zone);
  }
  for (const std::string& key : label.keys) {
    if (!keys.contains(key)) return fmt::format("there is no SSH key `{}`", key);
  }
  return std::nullopt;
}

CloudView::CloudView(const async::Runtime& runtime, VpcApi& api)
    : runtime_(runtime),
      api_(api),
      instances_(runtime, "instances", {.unknown = kPollInterval, .least = kExpectedPollInterval},
                 [this] { return InstanceList::of(api_.instances()); }),
      floating_ips_(runtime, "floating IPs",
                    {.unknown = kPollInterval, .least = kExpectedPollInterval},
                    [this] { return FloatingIpList::of(api_.floating_ips()); }),
      names_(runtime, "names in a region", [this] { return ask_names(); }),
      profiles_(runtime, "instance profiles", [this] { return ask_profiles(); }),
      images_(runtime, "images", [this] { return api_.images(); }),
      groups_(runtime, "resource groups", [this] { return ask_groups(); }) {}

Task<RegionNames> CloudView::ask_names() {
  RegionNames names;
  const std::vector<VpcThing> vpcs = co_await api_.vpcs();
  const std::vector<VpcThing> keys = co_await api_.keys();
  const std::vector<VpcThing> subnets = co_await api_.subnets();
  names.vpcs = ids_of(vpcs);
  names.keys = ids_of(keys);
  for (const VpcThing& subnet : subnets)
    names.subnets.emplace(std::pair(subnet.vpc, subnet.name), subnet);
  co_return names;
}

Task<CloudView::Profiles> CloudView::ask_profiles() {
  Profiles profiles;
  for (VpcProfile& profile : co_await api_.profiles()) profiles.emplace(profile.name, profile);
  co_return profiles;
}

Task<CloudView::Groups> CloudView::ask_groups() {
  const std::vector<VpcThing> groups = co_await api_.groups();
  co_return ids_of(groups);
}

Task<std::shared_ptr<const RegionNames>> CloudView::names(std::string vpc, const VpcLabel& label,
                                                          async::Duration max_age) {
  const auto has_all = [&vpc, &label](const RegionNames& names) {
    return !names.lack_of(vpc, label);
  };
  co_return co_await look_up(names_, max_age, has_all);
}

Task<std::optional<VpcProfile>> CloudView::profile(std::string name, async::Duration max_age) {
  const auto has_it = [&name](const Profiles& profiles) { return profiles.contains(name); };
  const auto profiles = co_await look_up(profiles_, max_age, has_it);
  const auto found = profiles->find(name);
  co_return found == profiles->end() ? std::nullopt : std::optional(found->second);
}

Task<driver::Resources> CloudView::taken_by(std::string profile) {
  const std::optional<VpcProfile> found = co_await this->profile(std::move(profile), kAnyAge);
  driver::Resources::Amounts amounts = {{"instances", 1}};
  if (found && found->cores) amounts["cores"] = *found->cores;
  if (found && found->memory) amounts["ram"] = *found->memory;
  co_return driver::Resources(std::move(amounts));
}

Task<std::optional<VpcImage>> CloudView::image(VpcImageSource source) {
  const auto images = co_await images_.get(kCatalogAge);
  const auto found =
      std::ranges::find_if(*images, [&](const VpcImage& image) { return is_of(image, source); });
  co_return found == images->end() ? std::nullopt : std::optional(*found);
}

// The launches of a new pool need its group at the same time.
Task<std::string> CloudView::group(std::string name, async::Duration max_age) {
  const auto has_it = [&name](const Groups& groups) { return groups.contains(name); };
  const auto groups = co_await look_up(groups_, max_age, has_it);
  const auto found = groups->find(name);
  if (found != groups->end()) co_return found->second;
  const async::SharedResult<std::string>::Ask make = [this, name] { return make_group(name); };
  const auto entry = new_groups_.try_emplace(name, runtime_, "a resource group", make).first;
  const auto id = co_await entry->second.next();
  co_return *id;
}

// Another launcher may make the group at the same time.
Task<std::string> CloudView::make_group(std::string name) {
  std::optional<CloudError> failure;
  try {
    co_await api_.make_group(name);
  } catch (const CloudError& error) {
    failure = error;
  }
  groups_.drop();
  const auto groups = co_await groups_.get(async::Duration::zero());
  const auto found = groups->find(name);
  if (found != groups->end()) co_return found->second;
  if (failure) throw CloudError(*failure);
  throw CloudError(CloudError::Kind::failed, "resource group " + name + " is not listed");
}

void CloudView::forget_names() {
  names_.drop();
  images_.drop();
  groups_.drop();
}

Task<> CloudView::stop() {
  co_await instances_.stop();
  co_await floating_ips_.stop();
  co_await names_.stop();
  co_await profiles_.stop();
  co_await images_.stop();
  for (auto& [name, group] : new_groups_) co_await group.stop();
  co_await groups_.stop();
}

}  // namespace nodepool::drivers::ibmvpc
