#include "cli/image_records.h"

#include <string_view>

#include "coordination/path.h"
#include "model/paths.h"

namespace nodepool::cli {

namespace {

using coordination::base_name;
using coordination::join_path;
using coordination::parent_path;
using coordination::Store;
using coordination::StoreError;

constexpr std::string_view kLock = "lock";

// The children but for the lock; none if the node does not exist.
Task<std::vector<std::string>> children(Store& store, std::string path) {
  std::vector<std::string> names;
  try {
    names = co_await store.children(std::move(path));
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
  std::erase(names, kLock);
  co_return names;
}

}  // namespace

Task<std::vector<std::string>> provider_build_paths(Store& store, std::string provider) {
  std::vector<std::string> paths;
  const std::string root(model::kImagesRoot);
  const std::vector<std::string> images = co_await children(store, root);
  for (const std::string& image : images) {
    const std::string builds_path = join_path(join_path(root, image), "builds");
    const std::vector<std::string> builds = co_await children(store, builds_path);
    for (const std::string& build : builds) {
      std::string path = join_path(join_path(builds_path, build), "providers/" + provider);
      if (co_await store.exists(path)) paths.push_back(std::move(path));
    }
  }
  co_return paths;
}

Task<ProviderUploads> provider_uploads(Store& store, std::string provider) {
  ProviderUploads uploads;
  const std::vector<std::string> paths = co_await provider_build_paths(store, provider);
  for (const std::string& path : paths) {
    std::vector<std::string> ids = co_await children(store, join_path(path, "images"));
    if (ids.empty()) continue;
    // .../<image>/builds/<build>/providers/<provider>
    const std::string_view build = parent_path(parent_path(path));
    const std::string_view image = parent_path(parent_path(build));
    uploads.emplace(std::pair(base_name(image), base_name(build)), std::move(ids));
  }
  co_return uploads;
}

}  // namespace nodepool::cli
