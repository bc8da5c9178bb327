#include "builder/upload_validator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "async/deadline.h"
#include "builder/decisions.h"
#include "builder/node_command.h"
#include "model/image_paths.h"

namespace nodepool::builder {

namespace {

using driver::LaunchError;

// Delays of retries.
constexpr auto kMinValidationRetryDelay = std::chrono::seconds(10);
constexpr auto kMaxValidationRetryDelay = std::chrono::minutes(5);

// The image failed the validation.
class ImageRejected : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Task<> launch_on(driver::Provider& provider, driver::NodeLaunch& node) {
  driver::LaunchingProvider* const launching = provider.launching();
  if (launching == nullptr) {
    throw driver::LaunchError(driver::LaunchError::Kind::failed,
                              "the provider cannot launch nodes");
  }
  return launching->launch(node);
}

}  // namespace

UploadValidator::UploadValidator(const BuilderContext& context, const Environment& environment,
                                 telemetry::Logger log)
    : context_(context), environment_(environment), log_(std::move(log)) {}

Task<> UploadValidator::validate(ValidationJob job) {
  async::Duration pause = kMinValidationRetryDelay;
  std::string failure;
  while (true) {
    const driver::ProviderImage* image =
        context_.settings.listed_image(job.upload.provider, job.upload.image);
    if (image == nullptr) {
      throw std::runtime_error("validation cancelled: the provider no longer lists the image");
    }
    if (!image->validation) co_return;
    const Attempt attempt{job, provider_of(job), *image->validation};
    try {
      co_await make_limited(attempt);
      co_return;
    } catch (const async::Cancelled&) {
      throw;
    } catch (const ImageRejected&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (!context_.graceful_stop.has_begun()) {
      log_.warning("Validating build {} of image {} in {} failed: {}; retrying in {} s",
                   job.upload.build_id, job.upload.image, job.upload.provider, failure,
                   std::chrono::duration_cast<std::chrono::seconds>(pause).count());
      co_await context_.graceful_stop.sleep_for(pause);
    }
    if (const auto reason = reason_to_stop(attempt)) {
      throw std::runtime_error(
          fmt::format("validation cancelled: {}; last attempt: {}", *reason, failure));
    }
    if (context_.graceful_stop.has_begun()) {
      throw ValidationInterrupted("the builder is stopping; last attempt: " + failure);
    }
    pause = std::min<async::Duration>(2 * pause, kMaxValidationRetryDelay);
  }
}

std::shared_ptr<driver::Provider> UploadValidator::provider_of(const ValidationJob& job) const {
  const auto found = context_.providers.find(job.upload.provider);
  return found == context_.providers.end() ? nullptr : found->second;
}

std::optional<std::string> UploadValidator::reason_to_stop(const Attempt& failed) const {
  const model::ImageUpload& upload = failed.job.upload;
  if (failed.provider != nullptr && failed.provider != provider_of(failed.job)) {
    return "the provider's configuration has changed";
  }
  const model::ImageBuild* newest = newest_ready(context_.images.builds_of(upload.image));
  if (newest == nullptr || newest->id != upload.build_id) return "a newer build is ready";
  return std::nullopt;
}

model::Node UploadValidator::node_for(const Attempt& attempt) {
  const model::ImageUpload& upload = attempt.job.upload;
  model::Node node;
  node.provider = upload.provider;
  node.pool = attempt.validation.pool;
  node.type = {attempt.validation.label};
  node.comment = fmt::format("validates upload {} of build {} of image {}", upload.id,
                             upload.build_id, upload.image);
  return node;
}

Task<> UploadValidator::make_limited(const Attempt& attempt) {
  return async::with_limit(context_.graceful_stop.until_store_is_lost(), make(attempt),
                           "the store was unreachable");
}

Task<> UploadValidator::make(const Attempt& attempt) {
  // A reload replaces providers; the new one may take a while to start.
  if (attempt.provider == nullptr) throw std::runtime_error("the provider is not in service");
  const model::ImageUpload& upload = attempt.job.upload;
  ValidationNode node(
      context_, node_for(attempt),
      {model::upload_path(upload.image, upload.build_id, upload.provider, upload.id),
       attempt.job.external_id});
  std::exception_ptr failure;
  bool cancelled = false;
  try {
    co_await node.create();
    co_await validate(attempt, node);
  } catch (const async::Cancelled&) {
    cancelled = true;
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    if (!cancelled && node.is_created()) co_await node.reclaim(*attempt.provider);
  } catch (const async::Cancelled&) {
    cancelled = true;
  } catch (const std::exception& error) {
    log_.warning("Deleting node {} failed, leaving it to the launchers: {}", node.node().id,
                 error.what());
  }
  co_await node.leave();
  if (cancelled) throw async::Cancelled();
  if (failure) std::rethrow_exception(failure);
}

Task<> UploadValidator::validate(const Attempt& attempt, ValidationNode& node) {
  const model::ImageUpload& upload = attempt.job.upload;
  log_.info("Validating build {} of image {} in {} with node {}", upload.build_id, upload.image,
            upload.provider, node.node().id);
  std::string problem;
  try {
    Task<> launching = launch_on(*attempt.provider, node);
    co_await std::move(launching);
  } catch (const LaunchError& error) {
    if (error.kind() != LaunchError::Kind::unreachable) throw;
    problem = error.what();
  }
  if (problem.empty() && !attempt.validation.command.empty()) {
    problem = co_await run_command(attempt, node.node());
  }
  // Fails if the lock was lost: then the machine may have been deleted before the result.
  co_await node.save();
  if (!problem.empty()) throw ImageRejected("validation: " + problem);
}

Task<std::string> UploadValidator::run_command(const Attempt& attempt, const model::Node& node) {
  const auto open_log = [settings = context_.settings.logs, upload = attempt.job.upload] {
    return open_or_discard(settings.below("validations"), upload.image, upload.build_id);
  };
  const auto opened = co_await context_.threads.run("log of a validation", open_log);
  const BuildLog& log = *opened;
  if (!log.problem().empty()) log_.warning("The log of a validation: {}", log.problem());
  Task<ProgramEnd> running =
      run_on_node(context_.runtime, context_.threads, node,
                  {attempt.validation.command, attempt.validation.timeout, environment_}, log);
  const ProgramEnd end = co_await std::move(running);
  if (end.exit_code == 0) co_return std::string();
  co_return fmt::format("the command {} on node {}; its output is in {}",
                        end.timed_out ? std::string("timed out")
                                      : fmt::format("failed with exit code {}", end.exit_code),
                        node.id, log.path().string());
}

}  // namespace nodepool::builder
