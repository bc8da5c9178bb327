#pragma once

#include <memory>
#include <optional>
#include <string>

#include "builder/context.h"
#include "builder/image_builder.h"
#include "builder/image_provider.h"
#include "builder/validation_node.h"
#include "driver/images.h"
#include "model/image_upload.h"
#include "telemetry/log.h"

namespace nodepool::builder {

// An upload that is to be tried out, before it counts as ready.
struct UploadOnTrial {
  model::ImageUpload upload;
  std::string external_id;                  // in the cloud
  std::shared_ptr<ImageProvider> provider;  // the caller keeps it in service, see ProviderCall
  driver::ImageValidation validation;
};

// Tries out uploads: makes a node from them.
class UploadValidator {
 public:
  // `environment` is that of ssh. The context outlives it.
  UploadValidator(BuilderContext& context, const Environment& environment, telemetry::Logger log);

  // Returns once a node that was made from the upload has shown its host keys, and has run the
  // command with success; the node is gone by then, or left to the launchers. A launch that fails
  // for a reason that is not the image's is made again, less and less often, until a newer build or
  // another configuration makes it pointless. Throws std::runtime_error: why the upload is not to
  // be used; Cancelled.
  Task<> validate(UploadOnTrial trial);

 private:
  Task<> attempt(const UploadOnTrial& trial);
  Task<> validate(const UploadOnTrial& trial, ValidationNode& node);
  // Why the command has failed; empty: it has not.
  Task<std::string> run_command(const UploadOnTrial& trial, const model::Node& node);
  Task<> reclaim(const UploadOnTrial& trial, ValidationNode& node);
  std::optional<std::string> reason_to_skip(const UploadOnTrial& trial) const;

  BuilderContext& context_;
  Environment environment_;
  telemetry::Logger log_;
};

}  // namespace nodepool::builder
