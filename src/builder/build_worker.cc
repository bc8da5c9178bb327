#include "builder/build_worker.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "async/event.h"
#include "async/finally.h"
#include "builder/builder_metrics.h"
#include "coordination/outage.h"
#include "coordination/tree.h"
#include "coordination/with_lock.h"
#include "model/image_paths.h"
#include "telemetry/log_errors.h"

namespace nodepool::builder {

namespace {

using coordination::Lock;
using coordination::SessionState;
using coordination::StoreError;
using model::BuildState;
using model::ImageBuild;

Builds newest_first(const std::vector<ImageBuild>& builds) {
  Builds sorted;
  for (const ImageBuild& build : builds) sorted.push_back(&build);
  std::ranges::sort(sorted, std::greater(), &ImageBuild::state_time);
  return sorted;
}

}  // namespace

BuildWorker::BuildWorker(const BuilderContext& context, BuildSchedule& schedule,
                         const ImageBuilders& builders)
    : context_(context),
      schedule_(schedule),
      builders_(builders),
      log_(context.log.child("BuildWorker")) {}

Task<> BuildWorker::run() {
  while (true) {
    const std::optional<std::string> image = co_await schedule_.images().take();
    if (!image) co_return;
    const std::int64_t request = schedule_.latest_request(*image);
    std::string failure;
    try {
      co_await process(*image);
      schedule_.store_failures().succeeded(*image);
    } catch (const async::Cancelled&) {
      schedule_.images().requeue(*image);
      throw;
    } catch (const StoreError& error) {
      if (schedule_.store_failures().failed(*image, error.kind())) {
        log_.error("Building image {} is delayed by the store: {}", *image, error.what());
      }
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (!failure.empty()) {
      schedule_.failed(*image, request);
      schedule_.images().contended(*image);  // a job that waits does not wait for the backoff
      log_.error("Building image {} failed: {}", *image, failure);
    }
    schedule_.images().requeue(*image);
  }
}

Task<> BuildWorker::process(std::string image) {
  co_await coordination::ensure_path(context_.store, model::builds_path(image));
  Lock lock(context_.store, context_.runtime.random, model::builds_lock_path(image));
  if (!co_await lock.try_acquire()) {
    schedule_.images().contended(image);
    co_return;
  }
  Task<> building = build_locked(image, lock);
  co_await coordination::with_lock(lock, std::move(building));
}

Task<> BuildWorker::build_locked(std::string image, Lock& lock) {
  // Another builder may have built it before this one got the lock.
  const std::vector<ImageBuild> known = co_await context_.records.builds(image);
  const BuildVerdict verdict = schedule_.evaluate(image, newest_first(known), false);
  if (!verdict.due || *verdict.due > context_.settled.now()) {
    schedule_.images().contended(image);
    co_return;
  }
  const std::shared_ptr<ImageJob> image_job = schedule_.jobs().next(image);
  const BuildJob job{
      .image = context_.settings.diskimages.at(image),
      .build_id = image_job ? image_job->build_id : context_.runtime.random.uuid_hex(),
      .formats = context_.settings.wanted_formats.at(image),
      .elements_dir = context_.settings.elements_dir,
      .logs = context_.settings.logs,
      .store = context_.local.files()};
  if (!co_await is_still_due(image, verdict.reason)) {
    schedule_.images().contended(image);
    co_return;
  }
  co_await perform(job, verdict.reason, lock);
}

Task<> BuildWorker::perform(BuildJob job, BuildReason reason, Lock& lock) {
  const std::string image = job.image.name;
  ImageBuild build;
  build.image = image;
  build.id = job.build_id;
  build.set_state(BuildState::building, context_.now());
  build.builder = context_.fqdn;
  build.builder_id = context_.local.builder_id();
  build.formats = {job.formats.begin(), job.formats.end()};
  const ImageStore::Key key(build.image, build.id);
  context_.in_progress.builds.insert(key);
  schedule_.jobs().begin(image, build.id);
  std::exception_ptr failure;
  try {
    build = co_await context_.records.create(build, lock);
    log_.info("Building image {} as {}: {}", image, build.id, to_string(reason));
    BuildResult result;
    const async::Clock::TimePoint began = context_.runtime.clock.now();
    try {
      result = co_await make(job, *builders_.find(job.image.builder)->second);
    } catch (const async::Cancelled&) {
      failure = std::current_exception();
      result = {.kind = BuildResult::Kind::broken, .problem = "the builder was stopped"};
    }
    if (!failure) co_await report_metrics(build, result, context_.runtime.clock.now() - began);
    co_await finish(std::move(build), job.image, std::move(result), lock);
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
  context_.in_progress.builds.erase(key);
  if (!failure) co_return;
  schedule_.jobs().end(image, key.second, "internal error, see the log of the builder");
  std::rethrow_exception(failure);
}

// Returns false if another builder has served the request meanwhile.
Task<bool> BuildWorker::is_still_due(std::string image, BuildReason reason) {
  if (reason != BuildReason::requested || schedule_.jobs().next(image)) co_return true;
  co_return (co_await context_.store.exists(model::build_request_path(image))).has_value();
}

// An expired session ends the build: without its lock other builders may build the image, and the
// result could not be recorded.
Task<BuildResult> BuildWorker::make(BuildJob job, ImageBuilder& builder) {
  BuildResult result;
  bool lost = false;
  async::Event ended("end of a build");
  async::TaskScope scope(context_.runtime, telemetry::log_errors(log_));
  auto work = [](BuildJob job, ImageBuilder& builder, BuildResult& result,
                 async::Event& ended) -> Task<> {
    try {
      result = co_await builder.build(std::move(job));
    } catch (const async::Cancelled&) {
      ended.set();
      throw;
    }
    ended.set();
  };
  scope.spawn("build of image " + job.image.name, work(job, builder, result, ended));
  const coordination::Subscription session =
      context_.store.on_session([&lost, &scope](SessionState state) {
        if (state != SessionState::expired) return;
        lost = true;
        scope.cancel();
      });
  const auto cancel_build = [&scope] { return scope.stop(); };
  Task<> waiting = ended.wait();
  co_await async::undo_on_failure(std::move(waiting), cancel_build);
  co_await scope.join();
  if (lost) {
    const auto remove_files = [job] { job.store.remove(job.image.name, job.build_id); };
    co_await context_.threads.run("files of a lost build", remove_files);
    co_return BuildResult{.kind = BuildResult::Kind::failed,
                          .problem = "the session with the store expired",
                          .exit_code = result.exit_code};
  }
  co_return result;
}

Task<> BuildWorker::finish(ImageBuild build, config::DiskImage image, BuildResult result,
                           Lock& lock) {
  if (result.lost_of_log > 0) {
    log_.warning("The log of build {} of image {} is incomplete, {} bytes lost: the disk was full",
                 build.id, build.image, result.lost_of_log);
  }
  if (!result.log_problem.empty()) {
    log_.warning("The log of build {} of image {}: {}", build.id, build.image, result.log_problem);
  }
  const bool made = result.kind == BuildResult::Kind::ready;
  if (result.kind != BuildResult::Kind::broken) {
    build.username = image.username;
    build.python_path = image.python_path;
    build.shell_type = image.shell_type;
    if (!made) build.formats.clear();
  }
  if (made) {
    build.set_state(BuildState::ready, context_.now());
    co_await context_.local.scan();
  } else {
    build.fail(result.problem, context_.now());
  }
  const bool written = co_await context_.records.write(build, made ? &lock : nullptr);
  if (made && !written) {
    result.problem = "its record was deleted or its lock was lost";
    const auto remove_files = [store = context_.local.files(), image = build.image, id = build.id] {
      store.remove(image, id);
    };
    co_await context_.threads.run("files of a lost build", remove_files);
    build.fail(result.problem, context_.now());
    build.formats.clear();
    co_await context_.records.write(build);
  }
  const bool is_done = made && written;
  context_.metrics.count(telemetry::series<kBuildResults>(build.image, is_done ? kDone : kFailed));
  if (is_done) {
    schedule_.succeeded(build.image);
    schedule_.jobs().end(build.image, build.id, "");
    log_.info("Build {} of image {} is ready", build.id, build.image);
    co_await remove_request(build);
    co_return;
  }
  const async::Duration pause = schedule_.failed(build.image, build.stat.czxid);
  log_.error("Build {} of image {} failed: {}; retrying in {} s", build.id, build.image,
             result.problem, std::chrono::duration_cast<std::chrono::seconds>(pause).count());
  schedule_.jobs().end(build.image, build.id, result.problem);
}

// Every build that started after the request serves it. The store's transactions give the order:
// the clocks of its servers may differ from this one. A request that is repeated meanwhile stays.
// Retries while the store is unreachable: the request would lead to another build.
Task<> BuildWorker::remove_request(ImageBuild build) {
  const std::string path = model::build_request_path(build.image);
  std::optional<StoreError::Kind> failed;
  while (true) {
    try {
      const auto request = co_await context_.store.exists(path);
      if (!request || request->mzxid > build.stat.czxid) co_return;
      co_await context_.store.remove(path, request->version);
      co_return;
    } catch (const StoreError& error) {
      const bool gone_or_repeated = error.kind() == StoreError::Kind::no_node ||
                                    error.kind() == StoreError::Kind::bad_version;
      if (gone_or_repeated) co_return;
      if (error.is_rejection() || error.kind() == StoreError::Kind::closed) throw;
      if (context_.graceful_stop.has_lost_store()) throw;
      if (std::exchange(failed, error.kind()) != error.kind()) {
        log_.warning("Error removing {}, retrying: {}", path, error.what());
      }
    }
    co_await coordination::wait_for_store(context_.runtime, context_.store);
  }
}

Task<> BuildWorker::report_metrics(ImageBuild build, BuildResult result, async::Duration duration) {
  if (!context_.metrics.enabled()) co_return;
  if (result.kind != BuildResult::Kind::broken) {
    telemetry::MetricsBatch batch(context_.metrics);
    batch.gauge(telemetry::series<kBuildExitCode>(build.image), result.exit_code);
    batch.time(telemetry::series<kBuildTime>(build.image), duration);
    batch.gauge(telemetry::series<kLastBuild>(build.image), std::floor(context_.now()));
  }
  if (result.kind != BuildResult::Kind::ready) co_return;
  constexpr double kBlock = 512;  // of st_blocks
  const std::string output = context_.local.files().output(build.image, build.id);
  const auto measure = [output, formats = build.formats] {
    std::map<std::string, double> sizes;
    for (const std::string& format : formats) {
      struct ::stat status{};
      if (::stat(image_file(output, format).c_str(), &status) != 0) continue;
      sizes[format] = kBlock * static_cast<double>(status.st_blocks);
    }
    return sizes;
  };
  const auto sizes = co_await context_.threads.run("sizes of images", measure);
  for (const auto& [format, size] : sizes) {
    context_.metrics.gauge(telemetry::series<kImageSize>(build.image, format), size);
  }
}

}  // namespace nodepool::builder
