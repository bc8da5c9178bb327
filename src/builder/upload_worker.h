#pragma once

#include <cstddef>
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

// Uploads images, some at a time. What is being tried out does not count any more: a hook or a
// validation may take as long as it likes, and holds up no other upload.
class UploadWorker {
 public:
  // Uploads `places` images at a time. `environment` is that of the programs that it runs. All else
  // outlives it.
  UploadWorker(BuilderContext& context, UploadSchedule& schedule, FormatProvider& formats,
               const Environment& environment, std::size_t max_concurrent);

  void start();
  // The agenda is closed: returns when what is under way has been completed.
  Task<> finish();
  // Gives up what is under way. It may be called while finish() has not returned.
  Task<> stop();

 private:
  // Held until an upload has been sent.
  using UploadSlot = std::optional<async::Slots::Hold>;

  // One upload, with what was configured when it was begun.
  struct Job {
    model::ImageUpload upload;
    std::string external_id;  // once the cloud has all of it
    std::shared_ptr<ImageProvider> provider;
    driver::ProviderImage image;
    std::string hook;  // a program; empty: none
  };

  Task<> take_uploads();
  Task<> take_up(UploadPair pair, UploadSlot slot);
  Task<> process(UploadPair pair, UploadSlot& slot);
  Task<> upload_locked(UploadPair pair, model::ImageBuild build, coordination::Lock& lock,
                       UploadSlot& slot);
  model::ImageUpload begun(const model::ImageBuild& build, const std::string& provider) const;
  Task<std::optional<model::ImageUpload>> resume(std::vector<model::ImageUpload> uploads);
  Task<> perform(Job job, UploadSlot& slot);
  Task<> give_up(model::ImageUpload upload, std::string failure);
  // What is done to the cloud; then the image is fit for use. Throws.
  Task<> send(driver::ImageSupport& images, Job& job, UploadSlot& slot);
  Task<> validate(const Job& job, std::string path);
  Task<> run_hook(const Job& job, std::string path);
  Task<> remove_again(driver::ImageSupport& images, const Job& job);
  static Task<> remove_from_cloud(driver::ImageSupport& images, const Job& job);
  driver::Metadata metadata(const Job& job) const;

  BuilderContext& context_;
  UploadSchedule& schedule_;
  FormatProvider& formats_;
  Environment environment_;
  telemetry::Logger log_;
  UploadValidator validator_;
  async::Slots slots_;
  async::TaskScope scope_;
};

}  // namespace nodepool::builder
