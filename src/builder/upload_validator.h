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

// The validation of an upload before it becomes ready.
struct ValidationJob {
  model::ImageUpload upload;
  std::string external_id;  // in the cloud
  std::shared_ptr<driver::Provider> provider;
  driver::ImageValidation validation;
};

// Validates uploads by launching a node from them.
class UploadValidator {
 public:
  // `environment`: for ssh. The context outlives it.
  UploadValidator(const BuilderContext& context, const Environment& environment,
                  telemetry::Logger log);

  // Launches a node from the upload, waits for its host keys and runs the command on it. Returns
  // after success; the node is then deleted, or left to the launchers. Launches that fail for a
  // reason other than the image are retried with backoff, until a newer build is ready or the
  // configuration changes. Throws std::runtime_error with the reason to reject the upload;
  // Cancelled.
  Task<> validate(ValidationJob job);

 private:
  Task<> attempt(const ValidationJob& job);
  Task<> validate(const ValidationJob& job, ValidationNode& node);
  // Returns the failure of the command; empty on success.
  Task<std::string> run_command(const ValidationJob& job, const model::Node& node);
  std::optional<std::string> reason_to_skip(const ValidationJob& job) const;

  const BuilderContext& context_;
  Environment environment_;
  telemetry::Logger log_;
};

}  // namespace nodepool::builder
