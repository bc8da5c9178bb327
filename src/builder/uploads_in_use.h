#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model/image_upload.h"
#include "model/node_table.h"

namespace nodepool::builder {

// The uploads that nodes are made from, as the nodes' records say.
class UploadsInUse {
 public:
  // `on_release` is called with the name of an image when the last node of one of its uploads has
  // gone. Both outlive this; `nodes` is followed by somebody.
  UploadsInUse(model::NodeTable& nodes, std::function<void(const std::string& image)> on_release);

  // Whether a node is made from it. While the nodes are not known, one may be.
  bool contains(const model::ImageUpload& upload) const;

 private:
  void count(const model::Node& node);
  void subtract_uses(const model::Node& node);

  const model::NodeTable& nodes_;
  std::function<void(const std::string&)> on_release_;
  std::map<std::string, std::size_t, std::less<>> nodes_of_;  // by the path of the upload's record
  coordination::Subscription subscription_;
};

}  // namespace nodepool::builder
