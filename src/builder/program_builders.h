#pragma once

#include "builder/image_builder.h"

namespace nodepool::builder {

// `builder: diskimage-builder`: runs disk-image-create
// (https://docs.openstack.org/diskimage-builder) as the Python Nodepool does. Formats that it does
// not support are converted.
class DibImageBuilder final : public ImageBuilder {
 public:
  using ImageBuilder::ImageBuilder;

 protected:
  std::set<std::string> formats_to_make(const std::set<std::string>& wanted) const override;
  Task<ProgramEnd> make(const BuildJob& job, const std::set<std::string>& formats,
                        const BuildLog& log) override;
};

// `builder: command`: runs any program. Its environment has the variables of diskimage-builder,
// NODEPOOL_BUILD_ID, and NODEPOOL_IMAGE_FORMATS (separated by commas). It must create
// $DIB_IMAGE_FILENAME.<format> for at least one of them.
class CommandImageBuilder final : public ImageBuilder {
 public:
  using ImageBuilder::ImageBuilder;

 protected:
  Task<ProgramEnd> make(const BuildJob& job, const std::set<std::string>& formats,
                        const BuildLog& log) override;
};

// For tests (--fake): creates placeholder files.
class FakeImageBuilder final : public ImageBuilder {
 public:
  using ImageBuilder::ImageBuilder;

 protected:
  Task<ProgramEnd> make(const BuildJob& job, const std::set<std::string>& formats,
                        const BuildLog& log) override;
};

// Converts the files of FakeImageBuilder, which qemu-img would reject.
class FakeFormatConverter final : public FormatConverter {
 public:
  using FormatConverter::FormatConverter;

 protected:
  Task<ProgramEnd> run(std::vector<std::string> arguments, std::int64_t build_timeout,
                       const BuildLog& log) override;
};

// The builders of the configuration's schema, and the converter.
struct ImageMakers {
  ImageBuilders builders;
  std::unique_ptr<FormatConverter> converter;
};

// With `fake`, all create placeholder files.
ImageMakers make_image_makers(const ProgramContext& context, bool fake);

}  // namespace nodepool::builder
