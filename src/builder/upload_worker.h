#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/slots.h"
#include "async/task_scope.h"
#include "builder/context.h"
#include "builder/format_provider.h"
#include "builder/image_builder.h"
#include "builder/upload_schedule.h"
#include "builder/upload_validator.h"

namespace nodepool::builder {

// Uploads images, a limited number concurrently. Hooks and validations do not count towards the
// limit, so they do not delay other uploads.
class UploadWorker {
 public:
  // `environment`: for hooks and ssh. All other arguments outlive it.
  UploadWorker(const BuilderContext& context, UploadSchedule& schedule, FormatProvider& formats,
               const Environment& environment, std::size_t max_concurrent);

  void start();
  // Returns when all uploads in progress are completed, after the schedule is closed.
  Task<> finish();
  // Cancels uploads in progress. May be called during finish().
  Task<> stop();

 private:
  // Held until the upload is sent.
  using UploadSlot = std::optional<async::Slots::Hold>;

  // One upload, with the configuration at its start.
  struct Job {
    model::ImageUpload upload;
    std::string external_id;  // after the upload is sent
    std::shared_ptr<driver::Provider> provider;
    driver::ProviderImage image;
    std::string hook;  // a program; empty: none
  };

  Task<> run();
  Task<> handle(UploadPair pair, UploadSlot slot);
  Task<> process(UploadPair pair, UploadSlot& slot);
  Task<> upload_locked(UploadPair pair, model::ImageBuild build, coordination::Lock& lock,
                       UploadSlot& slot);
  model::ImageUpload new_upload(const model::ImageBuild& build, const std::string& provider);
  Task<std::optional<model::ImageUpload>> resume(std::vector<model::ImageUpload> uploads);
  Task<> perform(Job job, UploadSlot& slot);
  Task<> record_failure(model::ImageUpload upload, std::string failure);
  // Uploads and validates the image. Throws.
  Task<> send(driver::ImageSupport& images, Job& job, UploadSlot& slot);
  Task<> validate(const Job& job, std::string path);
  Task<> run_hook(const Job& job, std::string path);
  Task<> undo(driver::ImageSupport& images, Job& job);
  static Task<> remove_from_cloud(driver::ImageSupport& images, const Job& job);
  driver::Metadata metadata(const Job& job) const;

  const BuilderContext& context_;
  UploadSchedule& schedule_;
  FormatProvider& formats_;
  Environment environment_;
  telemetry::Logger log_;
  UploadValidator validator_;
  std::map<std::string, double> newest_start_;  // of the uploads of an image, seconds since epoch
  async::Slots slots_;
  async::TaskScope scope_;
};

}  // namespace nodepool::builder
