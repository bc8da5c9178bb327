#pragma once

#include <optional>
#include <string>

#include "builder/context.h"
#include "coordination/lock_set.h"
#include "driver/launch.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::builder {

// A node that is made to try out an upload. Its record is `building` and locked for as long as the
// builder works on it, and allocated to nobody: launchers count it among what their provider has,
// hand it to nobody, and take it back once nobody has its lock.
class ValidationNode final : public driver::NodeLaunch {
 public:
  // `node`: provider, pool and type.
  ValidationNode(BuilderContext& context, model::Node node, driver::UploadedImage image);

  // Makes the record and locks it. Throws StoreError; std::runtime_error if somebody else has the
  // lock.
  Task<> create();
  bool is_created() const { return !node_.id.empty(); }

  model::Node& node() override { return node_; }
  const model::NodeRequest& request() const override { return request_; }
  std::optional<driver::UploadedImage> image() const override { return image_; }
  Task<> save() override;

  // Removes the record, once the machine is gone. Throws StoreError.
  Task<> remove();

  // Leaves the node to the launchers; harmless after remove(). Throws StoreError.
  Task<> leave();

 private:
  BuilderContext& context_;
  coordination::LockSet locks_;
  std::size_t lock_ = 0;  // its index, once the node is created
  model::Node node_;
  model::NodeRequest request_;  // nobody's, for the label alone
  driver::UploadedImage image_;
};

}  // namespace nodepool::builder
