#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/images.h"
#include "drivers/aws/api/s3.h"
#include "model/installation.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// What lies in the bucket of a provider, complete or in parts, with what it says of whose it is.
class BucketView {
 public:
  // `s3` outlives it.
  BucketView(S3& s3, std::string provider, std::shared_ptr<const model::Installation> installation,
             telemetry::Logger log);

  // Objects of others, too; of uploads in parts only the provider's own. Their ids are for
  // remove(). An object whose tags are refused is left out: nothing says whose it is. Throws
  // CloudError.
  async::Task<std::vector<driver::CloudImage>> list();

  // Whether it is an id of list().
  static bool is_id(std::string_view id);
  // Returns at once if it is not there. Throws CloudError.
  async::Task<> remove(std::string id);

 private:
  // The tags of an object, as it was when they were asked for: Nodepool's do not change.
  struct Known {
    std::string etag;
    driver::Metadata tags;
  };

  async::Task<std::optional<Known>> ask_tags(S3Object object);

  S3& s3_;
  std::string provider_;
  std::shared_ptr<const model::Installation> installation_;
  telemetry::Logger log_;
  std::map<std::string, Known, std::less<>> known_;  // by key
};

}  // namespace nodepool::drivers::aws
