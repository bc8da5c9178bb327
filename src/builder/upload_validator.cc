#include "builder/upload_validator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

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

model::Node node_for(const ValidationJob& job) {
  model::Node node;
  node.provider = job.upload.provider;
  node.pool = job.validation.pool;
  node.type = {job.validation.label};
  node.comment = fmt::format("validates upload {} of build {} of image {}", job.upload.id,
                             job.upload.build_id, job.upload.image);
  return node;
}

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
    if (const auto reason = reason_to_skip(job)) {
      throw std::runtime_error(fmt::format("validation cancelled: {}{}{}", *reason,
                                           failure.empty() ? "" : "; last attempt: ", failure));
    }
    try {
      co_await attempt(job);
      co_return;
    } catch (const async::Cancelled&) {
      throw;
    } catch (const ImageRejected&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    log_.warning("Validating build {} of image {} in {} failed: {}; retrying in {} s",
                 job.upload.build_id, job.upload.image, job.upload.provider, failure,
                 std::chrono::duration_cast<std::chrono::seconds>(pause).count());
    co_await context_.runtime.clock.sleep_for(pause);
    pause = std::min<async::Duration>(2 * pause, kMaxValidationRetryDelay);
  }
}

std::optional<std::string> UploadValidator::reason_to_skip(const ValidationJob& job) const {
  const model::ImageUpload& upload = job.upload;
  const auto provider = context_.providers.find(upload.provider);
  if (provider == context_.providers.end() || provider->second != job.provider) {
    return "the provider's configuration has changed";
  }
  const model::ImageBuild* newest = newest_ready(context_.images.builds_of(upload.image));
  if (newest == nullptr || newest->id != upload.build_id) return "a newer build is ready";
  return std::nullopt;
}

Task<> UploadValidator::attempt(const ValidationJob& job) {
  const model::ImageUpload& upload = job.upload;
  ValidationNode node(
      context_, node_for(job),
      {model::upload_path(upload.image, upload.build_id, upload.provider, upload.id),
       job.external_id});
  std::exception_ptr failure;
  bool cancelled = false;
  try {
    co_await node.create();
    co_await validate(job, node);
  } catch (const async::Cancelled&) {
    cancelled = true;
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    if (!cancelled && node.is_created()) co_await node.reclaim(*job.provider);
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

Task<> UploadValidator::validate(const ValidationJob& job, ValidationNode& node) {
  log_.info("Validating build {} of image {} in {} with node {}", job.upload.build_id,
            job.upload.image, job.upload.provider, node.node().id);
  std::string problem;
  try {
    Task<> launching = launch_on(*job.provider, node);
    co_await std::move(launching);
  } catch (const LaunchError& error) {
    if (error.kind() != LaunchError::Kind::unreachable) throw;
    problem = error.what();
  }
  if (problem.empty() && !job.validation.command.empty()) {
    problem = co_await run_command(job, node.node());
  }
  // Fails if the lock was lost: then the machine may have been deleted before the result.
  co_await node.save();
  if (!problem.empty()) throw ImageRejected("validation: " + problem);
}

Task<std::string> UploadValidator::run_command(const ValidationJob& job, const model::Node& node) {
  const auto open_log = [settings = context_.settings.logs, upload = job.upload] {
    return std::make_shared<BuildLog>(settings.below("validations"), upload.image, upload.build_id);
  };
  const auto opened = co_await context_.threads.run("log of a validation", open_log);
  const BuildLog& log = *opened;
  Task<ProgramEnd> running =
      run_on_node(context_.runtime, context_.threads, node,
                  {job.validation.command, job.validation.timeout, environment_}, log);
  const ProgramEnd end = co_await std::move(running);
  if (end.exit_code == 0) co_return std::string();
  co_return fmt::format("the command {} on node {}; its output is in {}",
                        end.timed_out ? std::string("timed out")
                                      : fmt::format("failed with exit code {}", end.exit_code),
                        node.id, log.path().string());
}

}  // namespace nodepool::builder
