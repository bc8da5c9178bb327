#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud/optional_permissions.h"
#include "cloud/s3/bucket.h"
#include "driver/images.h"
#include "model/installation.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// Lists and deletes the objects and multipart uploads in a provider's bucket, with their owner
// tags. The permissions for the lists are optional.
class BucketView {
 public:
  // The references outlive it.
  BucketView(cloud::Bucket& s3, std::string provider,
             std::shared_ptr<const model::Installation> installation,
             cloud::OptionalPermissions& permissions, telemetry::Logger log);

  // All objects, including those of others, and the provider's own multipart uploads. Their ids are
  // for remove(). Omits what may not be listed, and objects whose tags may not be read, as their
  // owner is unknown. Throws CloudError.
  async::Task<std::vector<driver::CloudImage>> list();

  // Whether it is an id from list().
  static bool is_id(std::string_view id);
  // Deletes an object or upload. Succeeds if it does not exist. Throws CloudError.
  async::Task<> remove(std::string id);

 private:
  // Cached tags of an object version: Nodepool's do not change.
  struct Known {
    std::string etag;
    driver::Metadata tags;
  };

  async::Task<std::optional<Known>> ask_tags(cloud::S3Object object);

  cloud::Bucket& s3_;
  std::string provider_;
  std::shared_ptr<const model::Installation> installation_;
  cloud::OptionalPermissions& permissions_;
  telemetry::Logger log_;
  std::map<std::string, Known, std::less<>> known_;  // by key
};

}  // namespace nodepool::drivers::aws
