#pragma once

#include <string>

#include "tests/support/temporary_directory.h"

namespace nodepool::test_support {

// A small separate file system on a temporary directory.
class SmallDisk {
 public:
  // `options` of mount(8), e.g. "size=1m".
  explicit SmallDisk(const std::string& options);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // False if this process may not mount.
  bool mounted() const { return mounted_; }

  // Both throw std::system_error.
  void make_read_only();
  // Fills it with a file "ballast"; removing that frees the space.
  void fill();

  std::string operator/(const std::string& name) const { return directory_.path() / name; }

 private:
  TemporaryDirectory directory_;
  bool mounted_;
};

}  // namespace nodepool::test_support
