#pragma once

#include <optional>
#include <string>

#include "builder/context.h"
#include "coordination/lock_set.h"
#include "driver/launch.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::builder {

// A node that is launched to validate an upload. Its record is `building`, locked by the builder,
// and not allocated. Launchers count it towards the quota, do not assign it, and delete it once it
// is unlocked.
class ValidationNode final : public driver::NodeLaunch {
 public:
  // `node`: provider, pool and type.
  ValidationNode(const BuilderContext& context, model::Node node, driver::UploadedImage image);

  // Creates and locks the record. Throws StoreError; std::runtime_error if another process has the
  // lock.
  Task<> create();
  bool is_created() const { return !node_.id.empty(); }

  model::Node& node() override { return node_; }
  const model::NodeRequest& request() const override { return request_; }
  std::optional<driver::UploadedImage> image() const override { return image_; }
  Task<> save() override;

  // Deletes the machine, and removes the record. Throws StoreError, and what the provider throws.
  Task<> reclaim(driver::Provider& provider);

  // Leaves the node to the launchers. No effect after reclaim(). Throws StoreError.
  Task<> leave();

 private:
  const BuilderContext& context_;
  coordination::LockSet locks_;
  std::size_t lock_ = 0;  // its index, once the node is created
  model::Node node_;
  model::NodeRequest request_;  // not in the store; only for its label
  driver::UploadedImage image_;
};

}  // namespace nodepool::builder
