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

// Converts what a FakeImageBuilder has made, which qemu-img would not read.
class FakeFormatConverter final : public FormatConverter {
 public:
  using FormatConverter::FormatConverter;

 protected:
  Task<ProgramEnd> run(std::vector<std::string> arguments, std::int64_t build_timeout,
                       const BuildLog& log) override;
};

// What makes images, by any of the ways of the configuration's schema.
struct ImageMakers {
  ImageBuilders builders;
  std::unique_ptr<FormatConverter> converter;
};

// With `fake`, all of them only pretend.
ImageMakers make_image_makers(const ProgramSite& site, bool fake);

}  // namespace nodepool::builder
