#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "async/slots.h"
#include "builder/context.h"
#include "builder/format_converter.h"

namespace nodepool::builder {

// Sees to it that builds that are ready have the formats that uploads need; shared by all upload
// workers.
class FormatProvider {
 public:
  // All outlives it.
  FormatProvider(BuilderContext& context, FormatConverter& converter)
      : context_(context), converter_(converter), log_(context.log.child("FormatSupply")) {}

  // Returns when the file is on this disk with its checksums, and the build's record has the
  // format. What is missing is made; who needs the same build at the same time waits for that.
  // Throws std::runtime_error that says why not, StoreError, Cancelled.
  Task<> provide(std::string image, std::string build_id, std::string format);

 private:
  Task<> convert(ImageStore::Key key, std::set<std::string> formats, std::string format);
  Task<> enter_in_record(ImageStore::Key key, std::string format);
  std::shared_ptr<async::Slots> turn_of(const ImageStore::Key& key);

  BuilderContext& context_;
  FormatConverter& converter_;
  telemetry::Logger log_;
  // One thing at a time is done to a build.
  std::map<ImageStore::Key, std::weak_ptr<async::Slots>> turns_;
};

}  // namespace nodepool::builder
