#include "drivers/aws/images/upload_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cloud/digest.h"
#include "driver/ownership.h"

namespace nodepool::drivers::aws {

using driver::Metadata;
using driver::value_of;

namespace {

constexpr std::size_t kTokenSize = 32;  // AWS takes up to 64 characters
constexpr std::size_t kMarkSize = 16;
constexpr std::size_t kFieldsAtEnd = 4;  // build, upload, mark, format

// Shorter than a provider's name, and without its special characters.
std::string owner_key(const std::string& provider, const std::string& installation) {
  return cloud::sha256_hex(installation + "/" + provider).substr(0, kMarkSize);
}

std::vector<std::string> fields_of(std::string_view key) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at <= key.size();) {
    const std::size_t end = std::min(key.find('.', at), key.size());
    fields.emplace_back(key.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

}  // namespace

bool is_of_upload(const Metadata& tags, const Metadata& upload) {
  const auto same = [&](std::string_view key) {
    const std::string value = value_of(upload, key);
    return !value.empty() && value_of(tags, key) == value;
  };
  return same(driver::kBuildIdKey) && same(driver::kUploadIdKey) && same(driver::kProviderNameKey);
}

std::string upload_token(const Metadata& upload, std::string_view call) {
  std::string text(call);
  for (const std::string_view key : {driver::kInstallationIdKey, driver::kProviderNameKey,
                                     driver::kBuildIdKey, driver::kUploadIdKey}) {
    text += "/" + value_of(upload, key);
  }
  return cloud::sha256_hex(text).substr(0, kTokenSize);
}

std::string object_key(const std::string& name, const std::string& format, const Metadata& upload) {
  return fmt::format("{}.{}.{}.{}.{}", name, value_of(upload, driver::kBuildIdKey),
                     value_of(upload, driver::kUploadIdKey),
                     owner_key(value_of(upload, driver::kProviderNameKey),
                               value_of(upload, driver::kInstallationIdKey)),
                     format);
}

std::optional<Metadata> tags_in_key(std::string_view key, const std::string& provider,
                                    const model::Installation& installation) {
  const std::vector<std::string> fields = fields_of(key);
  if (fields.size() <= kFieldsAtEnd) return std::nullopt;
  const auto end = fields.end();
  if (*(end - 2) != owner_key(provider, installation.id)) return std::nullopt;
  return Metadata{{std::string(driver::kBuildIdKey), *(end - 4)},
                  {std::string(driver::kUploadIdKey), *(end - 3)},
                  {std::string(driver::kProviderNameKey), provider},
                  {std::string(driver::kInstallationIdKey), installation.id}};
}

}  // namespace nodepool::drivers::aws
