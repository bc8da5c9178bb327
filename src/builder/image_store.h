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
//   builder_id.txt                    id of this builder
//   <image>-<build id>.<format>       an image, with its checksums .md5 and .sha256
//   <image>-<build id>.<format>.partial   an incomplete conversion
//   <image>-<build id>.<format>-new, …-intermediate   an incomplete image of diskimage-builder
//   <image>-<build id>.d/             metadata of diskimage-builder
//
// A build id has 32 hexadecimal digits. Files with such a name that belong to no build are deleted,
// so the directory must not be shared. In old releases of the Python Nodepool it is a sequence
// number, see is_sequence_number(). All functions except output() block and throw
// std::runtime_error with the path.
class ImageStore {
 public:
  explicit ImageStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  const std::filesystem::path& directory() const { return directory_; }

  // Image and build id -> the formats of its images.
  using Key = std::pair<std::string, std::string>;
  using Contents = std::map<Key, std::set<std::string>>;

  // The UUID of this builder. Stores `new_id` if there is none yet.
  std::string builder_id(const std::string& new_id) const;

  // All builds with files, including those without images.
  Contents contents() const;

  // The path of a build's files without ".<format>".
  std::string output(std::string_view image, std::string_view build_id) const;

  // Checks that the image exists in all formats and is not empty, and writes missing checksums.
  // Then all these files are on the disk, also after a power failure.
  void complete(const std::string& output, const std::set<std::string>& formats) const;

  // Renames the complete partial_file(), which must not be empty, to the image.
  void finish_partial(const std::string& output, const std::string& format) const;
  // Deletes all incomplete conversions of builds with a UUID: other files may not be ours.
  void remove_partials() const;

  // The image, which must not be empty, and its checksums.
  driver::ImageFile file(std::string_view image, std::string_view build_id,
                         const std::string& format) const;

  // Delete one format of a build, including a partial file; all files of a build, also after an
  // error.
  void remove_format(std::string_view image, std::string_view build_id,
                     const std::string& format) const;
  void remove(std::string_view image, std::string_view build_id) const;

  // The text "the disk of … is full" for error messages; empty if it is not.
  std::string shortage() const;

 private:
  std::vector<std::filesystem::directory_entry> entries() const;

  std::filesystem::path directory_;
};

// The path of the image of one format of a build with this output().
std::string image_file(std::string_view output, std::string_view format);

// The path of the image during a conversion.
std::string partial_file(std::string_view output, std::string_view format);

// "deb-12-<build id>" -> image and build id. Returns nothing for other names.
std::optional<ImageStore::Key> parse_build_name(std::string_view name);

// Whether the build id has 10 decimal digits, as old releases of the Python Nodepool assigned them.
// Other files may end in as many digits.
bool is_sequence_number(std::string_view build_id);

}  // namespace nodepool::builder
