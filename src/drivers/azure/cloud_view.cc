#include "drivers/azure/cloud_view.h"

#include <algorithm>

#include "driver/cloud_error.h"
#include "driver/statemachine/adapter.h"
#include "drivers/azure/poll_intervals.h"

namespace nodepool::drivers::azure {

using async::Task;

namespace {

// What a machine takes; nullptr: its size is unknown.
driver::Resources taken_with(const VmSize* size, bool is_spot) {
  if (size == nullptr) return driver::Resources({{"instances", 1}});
  return driver::Resources({{"instances", 1},
                            {"cores", size->cores},
                            {"ram", size->memory},
                            {is_spot ? kSpotCores : size->family, size->cores}});
}

}  // namespace

CloudView::CloudView(const async::Runtime& runtime, ResourceManager& manager)
    : manager_(manager),
      machines_(runtime, "virtual machines",
                {.unknown = kPollInterval, .least = kExpectedPollInterval},
                [this] { return MachineIndex::of(manager_.list(kMachineType, &read_machine)); }),
      power_states_(runtime, "states of virtual machines", [this] { return ask_power_states(); }),
      interfaces_(
          runtime, "network interfaces",
          [this] { return Interfaces::of(manager_.list(kInterfaceType, &read_interface)); }),
      addresses_(runtime, "public IP addresses",
                 [this] { return Addresses::of(manager_.list(kAddressType, &read_address)); }),
      disks_(runtime, "disks", [this] { return manager_.list(kDiskType, &read_disk); }),
      images_(runtime, "images", [this] { return manager_.list(kImageType, &read_resource); }),
      sizes_(runtime, "sizes of a location", [this] { return ask_sizes(); }),
      known_sizes_(runtime, manager.log(), "sizes of the location", SizesByName{}),
      limits_(runtime, "limits of a location", [this] { return ask_limits(); }),
      group_(runtime, "a resource group", [this] { return ask_group(); }) {}

Task<CloudView::SizesByName> CloudView::ask_sizes() {
  SizesByName sizes;
  for (VmSize& size : co_await manager_.sizes()) {
    std::string name = lowered(size.name);
    if (!name.empty()) sizes.insert_or_assign(std::move(name), std::move(size));
  }
  co_return sizes;
}

Task<std::optional<VmSize>> CloudView::size(std::string name, async::Duration age) {
  const auto sizes = co_await sizes_.get(age);
  const auto found = sizes->find(lowered(name));
  co_return found == sizes->end() ? std::nullopt : std::optional(found->second);
}

Task<bool> CloudView::has_sizes() {
  const auto sizes = co_await sizes_.get(kLookupAge);
  co_return !sizes->empty();
}

Task<driver::Resources> CloudView::taken_by(std::string size, bool is_spot) {
  const std::optional<VmSize> found = co_await this->size(std::move(size), kSizesAge);
  co_return taken_with(found ? &*found : nullptr, is_spot);
}

Task<driver::Resources> CloudView::known_taken_by(std::string size, bool is_spot) {
  const cloud::LastKnown<SizesByName>::Ask ask = [this] { return sizes_.get(kSizesAge); };
  const auto sizes = co_await known_sizes_.get(ask);
  const auto found = sizes->find(lowered(size));
  co_return taken_with(found == sizes->end() ? nullptr : &found->second, is_spot);
}

// What Azure counts for the group's machines, by the names of quotas.
Task<driver::Resources> CloudView::counted_for_group() {
  driver::Resources counted;
  const auto listed = co_await machines_.get({});
  for (const VirtualMachine& machine : listed->all()) {
    const std::optional<VmSize> size = co_await this->size(machine.size, kSizesAge);
    counted += driver::Resources({{"virtualMachines", 1}});
    if (!size) continue;
    counted += machine.is_spot
                   ? driver::Resources({{kSpotCores, size->cores}})
                   : driver::Resources({{"cores", size->cores}, {size->family, size->cores}});
  }
  co_return counted;
}

Task<driver::Limits> CloudView::ask_limits() {
  driver::Limits limits;
  driver::Resources used;
  for (const Usage& usage : co_await manager_.usages()) {
    limits[usage.name] = usage.limit;
    used += driver::Resources({{usage.name, usage.used}});
  }
  const driver::Resources ours = co_await counted_for_group();
  co_return driver::remaining(std::move(limits), use_by_others_.of(used, ours));
}

Task<std::shared_ptr<const CloudView::PowerStates>> CloudView::power_states() {
  co_return co_await power_states_.get(may_read_power_ ? driver::Adapter::kListingAge : kSizesAge);
}

Task<CloudView::PowerStates> CloudView::ask_power_states() {
  std::vector<PowerState> states;
  may_read_power_ = true;
  try {
    states = co_await manager_.power_states();
  } catch (const driver::CloudError& error) {
    if (error.kind() != driver::CloudError::Kind::permanent) throw;
    may_read_power_ = false;
  }
  co_return PowerStates(std::move(states));
}

Task<std::optional<std::string>> CloudView::image_id(GroupImageFilter filter) {
  const auto images = co_await images_.get(kLookupAge);
  const ArmResource* last = nullptr;
  for (const ArmResource& image : *images) {
    const bool has_tags = std::ranges::all_of(filter.tags, [&image](const auto& tag) {
      const auto found = image.tags.find(tag.first);
      return found != image.tags.end() && found->second == tag.second;
    });
    const bool matches = has_tags && image.is_ready() &&
                         (filter.name.empty() || filter.name == image.name) &&
                         (filter.location.empty() || filter.location == image.location);
    if (matches && (last == nullptr || last->name < image.name)) last = &image;
  }
  co_return last == nullptr ? std::nullopt : std::optional(last->id);
}

Task<bool> CloudView::ask_group() {
  co_await manager_.ensure_group();
  co_return true;
}

Task<> CloudView::ensure_group() {
  co_await group_.get(kSizesAge);
}

void CloudView::forget() {
  images_.drop();
  limits_.drop();
  group_.drop();
}

Task<> CloudView::stop() {
  co_await machines_.stop();
  co_await power_states_.stop();
  co_await interfaces_.stop();
  co_await addresses_.stop();
  co_await disks_.stop();
  co_await images_.stop();
  co_await sizes_.stop();
  co_await limits_.stop();
  co_await group_.stop();
}

}  // namespace nodepool::drivers::azure
