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
using model::NodeState;

// Between launches that come to nothing.
constexpr auto kFirstValidationPause = std::chrono::seconds(10);
constexpr auto kLongestValidationPause = std::chrono::minutes(5);

// The image is not fit for use.
class Unfit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

model::Node node_for(const UploadOnTrial& trial) {
  model::Node node;
  node.provider = trial.upload.provider;
  node.pool = trial.validation.pool;
  node.type = {trial.validation.label};
  node.comment = fmt::format("validates upload {} of build {} of image {}", trial.upload.id,
                             trial.upload.build_id, trial.upload.image);
  return node;
}

Task<> launch_on(driver::Provider& provider, driver::NodeLaunch& node) {
  driver::LaunchingProvider* const launching = provider.launching();
  if (launching == nullptr) {
    throw driver::LaunchError(driver::LaunchError::Kind::failed, "the provider launches nothing");
  }
  return launching->launch(node);
}

}  // namespace

UploadValidator::UploadValidator(BuilderContext& context, const Environment& environment,
                                 telemetry::Logger log)
    : context_(context), environment_(environment), log_(std::move(log)) {}

Task<> UploadValidator::validate(UploadOnTrial trial) {
  async::Duration pause = kFirstValidationPause;
  std::string failure;
  while (true) {
    if (const auto reason = reason_to_skip(trial)) {
      throw std::runtime_error(fmt::format("it was not validated, {}{}{}", *reason,
                                           failure.empty() ? "" : "; the last attempt: ", failure));
    }
    try {
      co_await attempt(trial);
      co_return;
    } catch (const async::Cancelled&) {
      throw;
    } catch (const Unfit&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    log_.warning("Build {} of image {} could not be validated in {}: {}; next attempt in {} s",
                 trial.upload.build_id, trial.upload.image, trial.upload.provider, failure,
                 std::chrono::duration_cast<std::chrono::seconds>(pause).count());
    co_await context_.runtime.clock.sleep_for(pause);
    pause = std::min<async::Duration>(2 * pause, kLongestValidationPause);
  }
}

std::optional<std::string> UploadValidator::reason_to_skip(const UploadOnTrial& trial) const {
  const model::ImageUpload& upload = trial.upload;
  const auto provider = context_.providers.find(upload.provider);
  if (provider == context_.providers.end() || provider->second != trial.provider) {
    return "the provider's configuration has changed";
  }
  const model::ImageBuild* newest = newest_ready(context_.images.builds_of(upload.image));
  if (newest == nullptr || newest->id != upload.build_id) return "it is not the newest build now";
  return std::nullopt;
}

Task<> UploadValidator::attempt(const UploadOnTrial& trial) {
  const model::ImageUpload& upload = trial.upload;
  ValidationNode node(
      context_, node_for(trial),
      {model::upload_path(upload.image, upload.build_id, upload.provider, upload.id),
       trial.external_id});
  std::exception_ptr failure;
  bool cancelled = false;
  try {
    co_await node.create();
    co_await validate(trial, node);
  } catch (const async::Cancelled&) {
    cancelled = true;
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    if (!cancelled && node.is_created()) co_await reclaim(trial, node);
  } catch (const async::Cancelled&) {
    cancelled = true;
  } catch (const std::exception& error) {
    log_.warning("Node {} is left to the launchers: {}", node.node().id, error.what());
  }
  co_await node.leave();
  if (cancelled) throw async::Cancelled();
  if (failure) std::rethrow_exception(failure);
}

Task<> UploadValidator::validate(const UploadOnTrial& trial, ValidationNode& node) {
  log_.info("Validating build {} of image {} in {} with node {}", trial.upload.build_id,
            trial.upload.image, trial.upload.provider, node.node().id);
  std::string problem;
  try {
    Task<> launching = launch_on(*trial.provider->provider, node);
    co_await std::move(launching);
  } catch (const LaunchError& error) {
    if (error.kind() != LaunchError::Kind::unreachable) throw;
    problem = error.what();
  }
  if (problem.empty() && !trial.validation.command.empty()) {
    problem = co_await run_command(trial, node.node());
  }
  // Who has lost the lock may have lost the machine as well, before anything was found out.
  co_await node.save();
  if (!problem.empty()) throw Unfit("validation: " + problem);
}

Task<std::string> UploadValidator::run_command(const UploadOnTrial& trial,
                                               const model::Node& node) {
  const auto open_log = [place = context_.logs, upload = trial.upload] {
    return std::make_shared<BuildLog>(place.below("validations"), upload.image, upload.build_id);
  };
  const auto opened = co_await context_.threads.run("log of a validation", open_log);
  const BuildLog& log = *opened;
  Task<ProgramEnd> running =
      run_on_node(context_.runtime, context_.threads, node,
                  {trial.validation.command, trial.validation.timeout, environment_}, log);
  const ProgramEnd end = co_await std::move(running);
  if (end.exit_code == 0) co_return std::string();
  co_return fmt::format("the command {} on node {}; its output is in {}",
                        end.timed_out ? std::string("took too long")
                                      : fmt::format("has ended with exit code {}", end.exit_code),
                        node.id, log.path().string());
}

Task<> UploadValidator::reclaim(const UploadOnTrial& trial, ValidationNode& node) {
  node.node().set_state(NodeState::deleting, context_.now());
  co_await node.save();
  Task<std::optional<model::Node>> taking = trial.provider->provider->reclaim(node);
  co_await std::move(taking);
  co_await node.remove();
}

}  // namespace nodepool::builder
