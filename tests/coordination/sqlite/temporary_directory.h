#pragma once

#include <filesystem>
#include <string>

namespace nodepool::coordination::sqlite {

// A temporary directory, removed with its content on destruction.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

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

  void make_read_only();

  std::string operator/(const std::string& name) const { return directory_ / name; }

 private:
  TemporaryDirectory directory_;
  bool mounted_;
};

}  // namespace nodepool::coordination::sqlite
