#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "builder/build_log.h"
#include "config/config.h"
#include "driver/images.h"

namespace nodepool::builder {

// What the current configuration says about images.
struct BuilderSettings {
  std::map<std::string, config::DiskImage> diskimages = {};
  // By image: its own formats and those of all configured providers that list it, started or not.
  std::map<std::string, std::set<std::string>, std::less<>> wanted_formats = {};
  // By provider: the images to upload, for all configured providers with images, started or not.
  std::map<std::string, driver::ManagedImages, std::less<>> managed_images = {};
  std::optional<std::string> elements_dir = {};
  BuildLog::Settings logs = {};

  // The settings of a configured provider for an image. Returns null if it does not list it.
  const driver::ProviderImage* listed_image(std::string_view provider,
                                            std::string_view image) const {
    const auto managed = managed_images.find(provider);
    if (managed == managed_images.end()) return nullptr;
    const auto found = managed->second.images.find(image);
    return found == managed->second.images.end() ? nullptr : &found->second;
  }
};

}  // namespace nodepool::builder
