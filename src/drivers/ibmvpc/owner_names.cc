#include "drivers/ibmvpc/owner_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "driver/ownership.h"

namespace nodepool::drivers::ibmvpc {

namespace {

constexpr const char* kNoTime = "x";

}  // namespace

std::string group_name(const std::string& provider, const std::string& pool) {
  return fmt::format("np_{}_{}", provider, pool);
}

std::string boot_disk_name(const driver::Metadata& metadata) {
  std::string time = driver::value_of(metadata, driver::kNodeCreatedKey);
  std::ranges::replace(time, '.', '-');
  const std::string installation = driver::value_of(metadata, driver::kInstallationIdKey);
  if (time.empty() && installation.empty()) return {};
  if (time.empty()) time = kNoTime;
  return installation.empty() ? fmt::format("np-{}", time)
                              : fmt::format("np-{}-{}", time, installation);
}

driver::Metadata owner_tags(const std::string& name, const std::string& group,
                            const std::string& boot_disk_name) {
  static const std::regex of_group("np_([^_]+)_([^_]+)");
  static const std::regex of_node("np([0-9]+)");
  static const std::regex of_disk("np-(?:x|([0-9]+)-([0-9]{6}))(?:-(.+))?");
  driver::Metadata tags;
  std::smatch found;
  if (!std::regex_match(group, found, of_group)) return tags;
  tags.emplace(driver::kProviderNameKey, found[1]);
  tags.emplace(driver::kPoolNameKey, found[2]);
  if (std::regex_match(name, found, of_node)) tags.emplace(driver::kNodeIdKey, found[1]);
  if (!std::regex_match(boot_disk_name, found, of_disk)) return tags;
  if (found[1].matched) {
    tags.emplace(driver::kNodeCreatedKey, found[1].str() + "." + found[2].str());
  }
  if (found[3].matched) tags.emplace(driver::kInstallationIdKey, found[3]);
  return tags;
}

}  // namespace nodepool::drivers::ibmvpc
