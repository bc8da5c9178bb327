#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/images.h"

namespace nodepool::builder {

// The files of builds on this disk, in the directory `images-dir`:
//
//   builder_id.txt                    who this builder is
//   <image>-<build id>.<format>       an image; beside it its checksums: .md5 and .sha256
//   <image>-<build id>.<format>.partial   one that is being converted: no image yet
//   <image>-<build id>.d/             what diskimage-builder says of it
//
// A build's id has 32 hexadecimal digits. What has such a name and belongs to no build is deleted,
// so the directory is the builder's alone. All functions but output() block; they throw
// std::runtime_error with the path.
class ImageStore {
 public:
  explicit ImageStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  const std::filesystem::path& directory() const { return directory_; }

  // Image and build id -> the formats of its images.
  using Key = std::pair<std::string, std::string>;
  using Contents = std::map<Key, std::set<std::string>>;

  // The UUID of this builder; made at the first call.
  std::string builder_id(const std::string& new_id) const;

  // What there is, also of builds of which nothing but other files is left.
  Contents contents() const;

  // The path of a build's files without ".<format>".
  std::string output(std::string_view image, std::string_view build_id) const;

  // Checks that there is an image of each of the formats, and writes the checksums that are
  // missing.
  void complete(const std::string& output, const std::set<std::string>& formats) const;

  // The file partial_file() is whole: it becomes the image.
  void finish_partial(const std::string& output, const std::string& format) const;
  // Deletes what conversions have left that nobody works on any more: all that there is.
  void remove_partials() const;

  // The image and its checksums.
  driver::ImageFile file(std::string_view image, std::string_view build_id,
                         const std::string& format) const;

  // Deletes one format of a build, also half of it; all files of a build.
  void remove_format(std::string_view image, std::string_view build_id,
                     const std::string& format) const;
  void remove(std::string_view image, std::string_view build_id) const;

  // "the disk is full", for the message about a failure; empty unless it is.
  std::string shortage() const;

 private:
  std::vector<std::filesystem::directory_entry> entries() const;

  std::filesystem::path directory_;
};

// The path of the image of one format of a build with this output().
std::string image_file(std::string_view output, std::string_view format);

// Where it is made, so that no half of an image is ever taken for one.
std::string partial_file(std::string_view output, std::string_view format);

// "deb-12-<32 hexadecimal digits>" -> image and build id; nothing for anything else.
std::optional<ImageStore::Key> parse_build_name(std::string_view name);

}  // namespace nodepool::builder
