#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cloud/metadata_store.h"
#include "driver/cloud_error.h"
#include "driver/images.h"
#include "drivers/libvirt/domain_launch.h"

namespace nodepool::drivers::libvirt {

// The size of the disk in a file with an image, in bytes. Throws CloudError(permanent) if the file
// is no qcow2, in spite of its format.
std::uint64_t virtual_size(const driver::ImageFile& file);

// Uploads, lists and deletes images: a volume in the storage pool of each host, with the image's
// name, which is also its id. Its owner tags are in the store.
class VolumeImages final : public driver::ImageSupport {
 public:
  // What `context` refers to, and `store`, outlive it.
  VolumeImages(LaunchContext context, coordination::Store& store);

  async::Task<std::string> upload(driver::ProviderImage image, std::string name,
                                  driver::ImageFile file, driver::Metadata metadata,
                                  Progress progress) override;
  async::Task<> remove(std::string name, std::string external_id) override;
  async::Task<std::vector<driver::CloudImage>> list() override;

 private:
  struct Failure {
    driver::CloudError error;
    bool may_have_part;  // a volume that is not complete
  };

  // Returns why the host has not got the image; nothing if it has.
  async::Task<std::optional<Failure>> upload_to(HostLine& line, std::string name,
                                                driver::ImageFile file, Progress progress);
  // Returns whether the part is gone.
  async::Task<bool> remove_part(HostLine& line, std::string name);
  async::Task<> send(HostLine& line, std::string name, driver::ImageFile file, Progress progress);

  LaunchContext context_;
  cloud::MetadataStore marks_;
};

}  // namespace nodepool::drivers::libvirt
