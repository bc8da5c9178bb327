#pragma once

#include "builder/image_builder.h"

namespace nodepool::builder {

// `builder: diskimage-builder`: runs disk-image-create
// (https://docs.openstack.org/diskimage-builder) as the Python Nodepool does. Formats that it does
// not know are converted from what it makes.
class DibImageBuilder final : public ImageBuilder {
 public:
  using ImageBuilder::ImageBuilder;

 protected:
  std::set<std::string> formats_to_make(const std::set<std::string>& wanted) const override;
  Task<ProgramEnd> make(const BuildJob& job, const std::set<std::string>& formats,
                        const BuildLog& log) override;
};

// `builder: command`: runs any program. It finds what to make in its environment: what
// diskimage-builder finds there, NODEPOOL_BUILD_ID, and NODEPOOL_IMAGE_FORMATS, the formats with
// commas; it writes $DIB_IMAGE_FILENAME.<format> for one of them at least.
class CommandImageBuilder final : public ImageBuilder {
 public:
  using ImageBuilder::ImageBuilder;

 protected:
  Task<ProgramEnd> make(const BuildJob& job, const std::set<std::string>& formats,
                        const BuildLog& log) override;
};

// For trials (--fake): writes files that are no images.
class FakeImageBuilder final : public ImageBuilder {
 public:
  using ImageBuilder::ImageBuilder;

 protected:
  Task<ProgramEnd> make(const BuildJob& job, const std::set<std::string>& formats,
                        const BuildLog& log) override;
};

// Those of the configuration's schema; with `fake`, all of them are FakeImageBuilders.
ImageBuilders make_image_builders(const ImageBuilder::Site& site, bool fake);

}  // namespace nodepool::builder
