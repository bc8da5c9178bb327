#include "config/config.h"

#include <string_view>
#include <utility>

#include "config/section.h"
#include "config/wording.h"

namespace nodepool::config {

namespace {

template <typename T>
const T& find_defined(const std::map<std::string, T>& defined, const Section& section,
                      std::string_view key, std::string_view name, std::string_view kind) {
  const auto found = defined.find(std::string(name));
  if (found != defined.end()) return found->second;
  throw section.error(key, "the " + std::string(kind) + " " + in_quotes(name) + " is not defined",
                      did_you_mean(name, keys_of(defined)));
}

}  // namespace

std::string ZooKeeperTls::missing() const {
  if (insecure_plaintext) return {};
  std::string keys;
  const std::pair<std::string_view, const std::string&> paths[] = {
      {"ca", ca}, {"cert", cert}, {"key", key}};
  for (const auto& [name, path] : paths) {
    if (path.empty()) keys += (keys.empty() ? "" : " and ") + in_quotes(name);
  }
  return keys.empty() ? keys : "missing " + keys + ": connections to ZooKeeper require TLS";
}

std::set<std::string> provider_names(const Config& config) {
  std::set<std::string> names;
  for (const ProviderSection& provider : config.providers) names.insert(provider.name);
  return names;
}

std::set<std::string> images_to_build(const Config& config) {
  std::set<std::string> names;
  for (const auto& [name, image] : config.diskimages) {
    if (!image.pause) names.insert(name);
  }
  return names;
}

const Label& find_label(const Config& config, const Section& section, std::string_view key,
                        std::string_view name) {
  return find_defined(config.labels, section, key, name, "label");
}

const DiskImage& find_diskimage(const Config& config, const Section& section, std::string_view key,
                                std::string_view name) {
  return find_defined(config.diskimages, section, key, name, "disk image");
}

}  // namespace nodepool::config
