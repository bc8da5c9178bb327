#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "builder/build_schedule.h"
#include "builder/cleanup_worker.h"
#include "builder/context.h"
#include "builder/upload_schedule.h"
#include "gearman/workers.h"

namespace nodepool::builder {

// What the builder does for others who ask by Gearman: the image workers of
// https://docs.opendev.org/opendev/infra-specs/latest/specs/nodepool-workers.html.
//
//   image-build:<image>    makes a build. The payload is its id; without one the builder chooses.
//                          The result is the id.
//   image-upload:<id>      uploads the build to the provider that the payload names, converting it
//                          if need be. The result is the cloud's id of the image.
//   image-delete:<id>      deletes the files of the build; also the build, if it is uploaded
//   nowhere.
//
// A payload is a word, or a JSON object: {"image-id": …}, {"provider": …}. The id of a build is a
// UUID, and always 32 hexadecimal digits in names and results. The work is done by the workers that
// do it for the store, with the same records; who asks only waits for them.
class GearmanFrontend {
 public:
  struct Options {
    std::size_t build_workers = 0;
    std::size_t upload_workers = 0;
  };

  // All outlives it.
  GearmanFrontend(BuilderContext& context, BuildSchedule& builds, UploadSchedule& uploads,
                  CleanupWorker& cleanup, Options options);

  // Which servers there are from now on: those that stay notice nothing, jobs of those that are
  // gone are still done. No effect after close().
  void serve(std::vector<gearman::Server> servers);

  // Something has changed: the configuration, records, or files. Offers what there is now.
  void refresh();

  // Offers nothing any more.
  void close();
  // The same; returns when all jobs have been answered, or given back to the servers if nobody will
  // do them: the agendas are closed before.
  Task<> finish();
  // Gives all jobs back to the servers: other builders may do them.
  Task<> stop();

 private:
  gearman::Connection::Functions functions() const;
  gearman::Connection::Functions with_leaving(gearman::Connection::Functions present);
  Task<> drain();
  const model::ImageBuild* find(const std::string& build_id) const;

  Task<gearman::JobResult> do_job(std::shared_ptr<gearman::Job> job);
  Task<gearman::JobResult> build(std::shared_ptr<gearman::Job> job, std::string image);
  Task<gearman::JobResult> upload(std::shared_ptr<gearman::Job> job, std::string build_id);
  Task<gearman::JobResult> remove(std::string build_id);

  std::string obstacle_to_build(const std::string& image) const;
  std::string obstacle_to_upload(const UploadPair& pair, const std::string& build_id) const;
  const model::ImageUpload* ready_upload(const UploadPair& pair, const std::string& build_id) const;

  BuilderContext& context_;
  BuildSchedule& builds_;
  UploadSchedule& uploads_;
  CleanupWorker& cleanup_;
  Options options_;
  bool closed_ = false;
  gearman::Connection::Functions present_;  // when it was last looked
  // Of builds that are gone: offered until then, to answer those who have asked before.
  std::map<std::string, async::Clock::TimePoint, std::less<>> leaving_;
  gearman::GearmanWorkers workers_;
  async::TaskScope scope_;
};

// The build id that a client has chosen, as 32 hexadecimal digits; empty if it has chosen none.
// Throws std::runtime_error if it is no UUID.
std::string requested_build_id(std::string_view payload);

// The provider that a client has named. Throws std::runtime_error if it has named none.
std::string requested_provider(std::string_view payload);

}  // namespace nodepool::builder
