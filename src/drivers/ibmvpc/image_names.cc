#include "drivers/ibmvpc/image_names.h"

#include <fmt/format.h>

#include <regex>

#include "cloud/digest.h"
#include "driver/ownership.h"

namespace nodepool::drivers::ibmvpc {

using driver::value_of;

namespace {

constexpr std::size_t kMarkSize = 10;

std::string mark_of(const std::string& provider, const std::string& installation) {
  return cloud::sha256_hex(installation + "/" + provider).substr(0, kMarkSize);
}

}  // namespace

std::string image_group_name(const std::string& provider) {
  return "npimages_" + provider;
}

std::string image_name(const driver::Metadata& upload) {
  return fmt::format("npimage-{}-{}-{}", value_of(upload, driver::kUploadIdKey),
                     value_of(upload, driver::kBuildIdKey),
                     mark_of(value_of(upload, driver::kProviderNameKey),
                             value_of(upload, driver::kInstallationIdKey)));
}

driver::Metadata image_tags(const std::string& name, const std::string& provider,
                            const model::Installation& installation) {
  static const std::regex of_upload("npimage-([0-9]+)-([0-9a-z]+)-([0-9a-f]{10})");
  driver::Metadata tags = {{std::string(driver::kProviderNameKey), provider}};
  std::smatch found;
  if (!std::regex_match(name, found, of_upload)) return tags;
  tags.emplace(driver::kUploadIdKey, found[1]);
  tags.emplace(driver::kBuildIdKey, found[2]);
  const bool is_own = found[3] == mark_of(provider, installation.id);
  tags.emplace(driver::kInstallationIdKey, is_own ? installation.id : found[3].str());
  return tags;
}

std::string object_key(const std::string& image_name, const std::string& format) {
  return image_name + "." + format;
}

std::optional<driver::Metadata> object_tags(const std::string& key, const std::string& provider,
                                            const model::Installation& installation) {
  driver::Metadata tags = image_tags(key.substr(0, key.find('.')), provider, installation);
  if (value_of(tags, driver::kInstallationIdKey) != installation.id) return std::nullopt;
  return tags;
}

}  // namespace nodepool::drivers::ibmvpc
