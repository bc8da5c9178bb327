#include "model/change_image.h"

#include "coordination/error.h"
#include "coordination/tree.h"
#include "model/image_paths.h"

namespace nodepool::model {

using async::Task;
using coordination::StoreError;

Task<> request_build(coordination::Store& store, std::string image) {
  const std::string path = build_request_path(image);
  try {
    co_await store.set(path, "", coordination::kAnyVersion);
    co_return;
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
  co_await coordination::ensure_path(store, path);
}

Task<bool> pause_image(coordination::Store& store, std::string image) {
  try {
    co_await store.create(image_pause_path(image), "", coordination::CreateMode::persistent);
  } catch (const StoreError& error) {
    if (error.kind() == StoreError::Kind::no_node) co_return false;
    if (error.kind() != StoreError::Kind::node_exists) throw;
  }
  co_return true;
}

Task<> unpause_image(coordination::Store& store, std::string image) {
  try {
    co_await store.remove(image_pause_path(image), coordination::kAnyVersion);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  }
}

}  // namespace nodepool::model
