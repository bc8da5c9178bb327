#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/rest/rest_client.h"
#include "driver/images.h"
#include "drivers/azure/cloud_view.h"
#include "drivers/azure/config/azure_config.h"
#include "http/rate_governor.h"
#include "telemetry/log.h"

namespace nodepool::drivers::azure {

// Uploads images: writes the file to a disk, as a page blob, and makes an image of the disk. Both
// have the image's name and the upload's tags, so an interrupted upload can be resumed at any
// point.
class ManagedImageStore final : public driver::ImageSupport {
 public:
  // The references outlive it.
  ManagedImageStore(const async::Runtime& runtime, const AzureConfig& config,
                    ResourceManager& manager, CloudView& view, async::ThreadPool& threads,
                    const telemetry::Logger& log, const http::Client::Observer& on_attempt);

  async::Task<std::string> upload(driver::ProviderImage image, std::string name,
                                  driver::ImageFile file, driver::Metadata metadata,
                                  Progress progress) override;
  bool resumes_uploads() const override { return true; }
  async::Task<> remove(std::string name, std::string external_id) override;
  // Includes the disks of incomplete uploads.
  async::Task<std::vector<driver::CloudImage>> list() override;

 private:
  // One upload.
  struct Job {
    std::string name;
    driver::ImageFile file;
    driver::Metadata metadata;
    Progress progress;
  };
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // first and last byte

  async::Task<> make(Job job);
  // Makes an idempotent step, and retries it while the cloud is unreachable. What `step` refers to
  // outlives this.
  async::Task<> persist(std::function<async::Task<>()> step);
  async::Task<bool> image_exists(Job job);
  async::Task<std::optional<ManagedDisk>> find_disk(std::string name);
  async::Task<std::optional<ManagedDisk>> begun_disk(Job job);
  async::Task<> make_disk(Job job);
  async::Task<std::string> begin_access(std::string disk);
  async::Task<> end_access(std::string disk);
  async::Task<> abandon_access(std::string disk);
  async::Task<> write(Job job, bool is_begun);
  async::Task<> write_range(std::string url, std::uint64_t offset, std::string data);
  async::Task<Ranges> written_ranges(std::string url);
  async::Task<> make_image(Job job);
  async::Task<> remove_begun(Job job);
  async::Task<> remove_image(std::string name);
  async::Task<> remove_disk(std::string name, driver::Metadata tags);

  async::Runtime runtime_;
  const AzureConfig& config_;
  ResourceManager& manager_;
  CloudView& view_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
  http::RateGovernor no_limit_;  // of calls to the storage
  http::Client client_;
  cloud::RestClient storage_;
};

}  // namespace nodepool::drivers::azure
