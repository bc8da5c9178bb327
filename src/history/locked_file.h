#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nodepool::history {

// An open file with a kernel lock. All processes that write or replace the file take the same lock.
class LockedFile {
 public:
  enum class Access { read, append };

  // Returns nothing if the file does not exist; Access::append creates it. Throws
  // std::system_error.
  static std::optional<LockedFile> open(const std::string& path, Access access);

  LockedFile(LockedFile&& other) noexcept;
  LockedFile& operator=(LockedFile&& other) = delete;
  ~LockedFile();

  // In bytes. Throws std::system_error.
  std::int64_t size() const;

  // The last bytes of the file, at most `count`. Throws std::system_error.
  std::string tail(std::int64_t count) const;

  // The first bytes of the file, at most `count`. Throws std::system_error.
  std::string head(std::int64_t count) const;

  // Appends `text`. Throws std::system_error.
  void append(std::string_view text);

 private:
  LockedFile(std::string path, int descriptor);
  std::string part(std::int64_t begin, std::int64_t count) const;
  // Whether the file has not been replaced at its path.
  bool is_in_place() const;

  std::string path_;
  int descriptor_;
};

}  // namespace nodepool::history
