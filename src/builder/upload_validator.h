#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
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
};

// The builder stops before the upload is validated.
class ValidationInterrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Validates uploads by launching a node from them.
class UploadValidator {
 public:
  // `environment`: for ssh. The context outlives it.
  UploadValidator(const BuilderContext& context, const Environment& environment,
                  telemetry::Logger log);

  // Launches a node from the upload as the provider is configured now, waits for its host keys and
  // runs the command on it. Returns after success; the node is then deleted, or left to the
  // launchers. Also returns if the configuration no longer asks for a validation. Launches that
  // fail for a reason other than the image are retried with backoff, until a newer build is ready
  // or the configuration changes after a launch; not once the builder stops gracefully. Throws
  // std::runtime_error with the reason to reject the upload; ValidationInterrupted; Cancelled.
  Task<> validate(ValidationJob job);

 private:
  struct Attempt {
    ValidationJob job;
    std::shared_ptr<driver::Provider> provider;  // null: not in service
    driver::ImageValidation validation;
  };

  // The provider in service; null if there is none.
  std::shared_ptr<driver::Provider> provider_of(const ValidationJob& job) const;
  static model::Node node_for(const Attempt& attempt);
  // Makes one attempt. A graceful stop cancels it if it loses the store.
  Task<> make_limited(const Attempt& attempt);
  Task<> make(const Attempt& attempt);
  Task<> validate(const Attempt& attempt, ValidationNode& node);
  // Returns the failure of the command; empty on success.
  Task<std::string> run_command(const Attempt& attempt, const model::Node& node);
  // Why a failed attempt is not repeated.
  std::optional<std::string> reason_to_stop(const Attempt& failed) const;

  const BuilderContext& context_;
  Environment environment_;
  telemetry::Logger log_;
};

}  // namespace nodepool::builder
