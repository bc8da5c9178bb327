#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/thread_pool.h"
#include "driver/images.h"
#include "drivers/openstack/server_launch.h"

namespace nodepool::drivers::openstack {

// Uploads, lists and deletes images.
class GlanceImages final : public driver::ImageSupport {
 public:
  // `threads` outlive it.
  GlanceImages(ServerContext context, async::ThreadPool& threads);

  async::Task<std::string> upload(driver::ProviderImage image, std::string name,
                                  driver::ImageFile file, driver::Metadata metadata,
                                  Progress progress) override;
  async::Task<> remove(std::string name, std::string external_id) override;
  async::Task<std::vector<driver::CloudImage>> list() override;

 private:
  driver::Metadata properties(const std::string& name, const driver::ImageFile& file,
                              const driver::Metadata& metadata) const;
  async::Task<std::string> make(std::string name, driver::ImageFile file, driver::Metadata metadata,
                                Progress progress);
  async::Task<std::optional<Image>> wait_until_settled(std::string id, bool has_content);
  async::Task<> remove_begun(std::string name, driver::Metadata metadata);

  ServerContext context_;
  async::ThreadPool& threads_;
};

// The maximum time in which sending an image of `size` bytes makes no progress. A proxy that has
// taken all data, or Glance while it stores them, is silent for a time in proportion to the size.
async::Duration stall_limit(std::uint64_t size, async::Duration upload_timeout);

}  // namespace nodepool::drivers::openstack
