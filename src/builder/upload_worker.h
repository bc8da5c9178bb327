#pragma once

#include <memory>
#include <string>

#include "builder/context.h"
#include "builder/format_supply.h"
#include "builder/image_builder.h"
#include "builder/upload_agenda.h"
#include "builder/upload_validator.h"

namespace nodepool::builder {

// Uploads one image after the other.
class UploadWorker {
 public:
  // `environment` is that of the programs that it runs. All else outlives it.
  UploadWorker(BuilderContext& context, UploadAgenda& agenda, FormatSupply& formats,
               const Environment& environment);

  // Works until the agenda is closed. Throws Cancelled; an upload under way is then given up.
  Task<> run();

 private:
  // One upload, with what was configured when it was begun.
  struct Job {
    model::ImageUpload upload;
    std::shared_ptr<ImageProvider> provider;
    driver::ProviderImage image;
    std::string hook;  // a program; empty: none
  };

  Task<> look_after(UploadPair pair);
  Task<> upload_locked(UploadPair pair, model::ImageBuild build, coordination::Lock& lock);
  Task<> perform(Job job);
  Task<> give_up(model::ImageUpload upload, std::string failure);
  // What is done to the cloud. Returns the cloud's id of the image, which is fit for use. Throws.
  Task<std::string> send(const Job& job);
  Task<> try_out(const Job& job, std::string external_id, std::string path);
  Task<> run_hook(const Job& job, std::string external_id, std::string path);
  Task<> remove_again(ProviderCall& call, model::ImageUpload upload, std::string external_id);
  driver::Metadata metadata(const Job& job) const;

  BuilderContext& context_;
  UploadAgenda& agenda_;
  FormatSupply& formats_;
  Environment environment_;
  telemetry::Logger log_;
  UploadValidator validator_;
};

}  // namespace nodepool::builder
