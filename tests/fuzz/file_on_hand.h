#pragma once

#include <string>
#include <string_view>

namespace nodepool::fuzz {

// A file in memory, for readers that want a path.
class FileOnHand {
 public:
  FileOnHand();
  ~FileOnHand();
  FileOnHand(const FileOnHand&) = delete;
  FileOnHand& operator=(const FileOnHand&) = delete;

  // Replaces its content.
  void write(std::string_view content) const;

  // For this process.
  std::string path() const;

 private:
  int descriptor_;
};

}  // namespace nodepool::fuzz
