#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model/image_upload.h"
#include "model/node_table.h"

namespace nodepool::builder {

// The uploads that nodes use, by the records of nodes.
class UploadsInUse {
 public:
  // Calls `on_release` with the name of the image when the last node of an upload is removed. Both
  // arguments outlive this. The owner of `nodes` keeps it up to date.
  UploadsInUse(model::NodeTable& nodes, std::function<void(const std::string& image)> on_release);

  // Whether a node uses the upload. Returns true while the table is not ready.
  bool contains(const model::ImageUpload& upload) const;

 private:
  void add_uses(const model::Node& node);
  void subtract_uses(const model::Node& node);

  const model::NodeTable& nodes_;
  std::function<void(const std::string&)> on_release_;
  std::map<std::string, std::size_t, std::less<>> nodes_of_;  // by the path of the upload's record
  coordination::Subscription subscription_;
};

}  // namespace nodepool::builder
