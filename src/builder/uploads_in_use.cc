#include "builder/uploads_in_use.h"

#include <utility>

#include "model/image_paths.h"
#include "model/paths.h"

namespace nodepool::builder {

namespace {

// The path of the record of the upload; empty if the node uses no upload.
std::string_view upload_of(const model::Node& node) {
  if (!node.image_id || !node.image_id->starts_with(model::kImagesRoot)) return {};
  return *node.image_id;
}

std::string image_of(std::string_view path) {
  path.remove_prefix(model::kImagesRoot.size() + 1);
  return std::string(path.substr(0, path.find('/')));
}

}  // namespace

UploadsInUse::UploadsInUse(model::NodeTable& nodes,
                           std::function<void(const std::string& image)> on_release)
    : nodes_(nodes), on_release_(std::move(on_release)) {
  subscription_ = nodes.observe([this](const model::NodeTable::Change& change) {
    const bool is_same = change.before != nullptr && change.after != nullptr &&
                         change.before->image_id == change.after->image_id;
    if (is_same) return;
    if (change.after != nullptr) add_uses(*change.after);
    if (change.before != nullptr) subtract_uses(*change.before);
  });
}

bool UploadsInUse::contains(const model::ImageUpload& upload) const {
  if (!nodes_.ready()) return true;
  return nodes_of_.contains(
      model::upload_path(upload.image, upload.build_id, upload.provider, upload.id));
}

void UploadsInUse::add_uses(const model::Node& node) {
  const std::string_view path = upload_of(node);
  if (!path.empty()) ++nodes_of_[std::string(path)];
}

void UploadsInUse::subtract_uses(const model::Node& node) {
  const auto found = nodes_of_.find(upload_of(node));
  if (found == nodes_of_.end() || --found->second > 0) return;
  const std::string image = image_of(found->first);
  nodes_of_.erase(found);
  on_release_(image);
}

}  // namespace nodepool::builder
