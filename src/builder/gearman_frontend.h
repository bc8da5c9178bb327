#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/task_scope.h"
#include "builder/build_schedule.h"
#include "builder/cleanup_worker.h"
#include "builder/context.h"
#include "builder/upload_schedule.h"
#include "gearman/workers.h"

namespace nodepool::builder {

// The Gearman interface of the builder: the image workers of
// https://docs.opendev.org/opendev/infra-specs/latest/specs/nodepool-workers.html.
//
//   image-build:<image>    builds an image. The payload is the build id; by default the builder
//                          chooses one. The result is the id.
//   image-upload:<id>      uploads the build to the provider in the payload, after a conversion if
//                          necessary. The result is the id of the image in the cloud.
//   image-delete:<id>      deletes the files of the build; also the build if it has no uploads.
//                          Succeeds also if they are deleted already.
//
// A payload is a word or a JSON object: {"image-id": …}, {"provider": …}. A build id is a UUID, in
// names and results 32 hexadecimal digits; builds with a sequence number are not offered. The
// ordinary workers do the work, with the same records; jobs only wait for them.
class GearmanFrontend {
 public:
  struct Options {
    std::size_t build_workers = 0;
    std::size_t upload_workers = 0;
  };

  // All arguments outlive it.
  GearmanFrontend(const BuilderContext& context, BuildSchedule& builds, UploadSchedule& uploads,
                  CleanupWorker& cleanup, Options options);

  // Sets the servers. Connections to servers that stay are kept; jobs of removed servers are
  // completed. No effect after close().
  void serve(std::vector<gearman::Server> servers);

  // Updates the offered functions from the configuration, records and files.
  void refresh();

  // Withdraws all functions.
  void close();
  // Withdraws all functions. Returns when all jobs are completed, or returned to the servers
  // because the schedules are closed.
  Task<> finish();
  // Returns all jobs to the servers: other builders may do them.
  Task<> stop();

 private:
  gearman::Connection::Functions functions() const;
  gearman::Connection::Functions with_draining(gearman::Connection::Functions present);
  Task<> drain();
  const model::ImageBuild* find(const std::string& build_id) const;

  Task<gearman::JobResult> do_job(std::shared_ptr<gearman::Job> job);
  Task<gearman::JobResult> build(std::shared_ptr<gearman::Job> job, std::string image);
  Task<gearman::JobResult> upload(std::shared_ptr<gearman::Job> job, std::string build_id);
  Task<gearman::JobResult> remove(std::string build_id);

  std::string obstacle_to_build(const std::string& image) const;
  std::string obstacle_to_upload(const UploadPair& pair, const std::string& build_id) const;
  const model::ImageUpload* ready_upload(const UploadPair& pair, const std::string& build_id) const;

  const BuilderContext& context_;
  BuildSchedule& builds_;
  UploadSchedule& uploads_;
  CleanupWorker& cleanup_;
  Options options_;
  bool closed_ = false;
  gearman::Connection::Functions present_;  // at the last refresh()
  // Functions of deleted builds, offered until then to complete earlier jobs.
  std::map<std::string, async::Clock::TimePoint, std::less<>> draining_;
  gearman::GearmanWorkers workers_;
  async::TaskScope scope_;
};

// The build id of a payload, as 32 hexadecimal digits; empty if it has none. Throws
// std::runtime_error if it is not a UUID.
std::string requested_build_id(std::string_view payload);

// The provider of a payload. Throws std::runtime_error if it has none.
std::string requested_provider(std::string_view payload);

}  // namespace nodepool::builder
