#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "async/slots.h"
#include "builder/context.h"
#include "builder/format_converter.h"

namespace nodepool::builder {

// Provides the formats of ready builds that uploads need, by conversion if necessary. Shared by all
// upload workers.
class FormatProvider {
 public:
  // All arguments outlive it.
  FormatProvider(const BuilderContext& context, FormatConverter& converter)
      : context_(context), converter_(converter), log_(context.log.child("FormatProvider")) {}

  // Returns when the file is on this disk with its checksums, and the record of the build has the
  // format. Converts the file if necessary; concurrent calls for the same build wait. Throws
  // std::runtime_error with the reason, StoreError, Cancelled.
  Task<> provide(std::string image, std::string build_id, std::string format);

 private:
  Task<> convert(ImageStore::Key key, std::set<std::string> formats, std::string format);
  Task<> add_to_record(ImageStore::Key key, std::string format);
  std::shared_ptr<async::Slots> turn_of(const ImageStore::Key& key);

  const BuilderContext& context_;
  FormatConverter& converter_;
  telemetry::Logger log_;
  // At most one operation at a time for each build.
  std::map<ImageStore::Key, std::weak_ptr<async::Slots>> turns_;
};

}  // namespace nodepool::builder
