#include "cli/private_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace nodepool::cli {

namespace {

[[noreturn]] void fail_while(const std::string& doing) {
  throw std::system_error(errno, std::generic_category(), doing);
}

}  // namespace

PrivateDirectory::PrivateDirectory(const std::string& parent) : path_(parent + "/nodepool-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) fail_while("cannot create a directory in " + parent);
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;  // files of other users may not be removable
  std::filesystem::remove_all(path_, ignored);
}

std::string PrivateDirectory::path_of(std::string_view name) const {
  return std::string(path_).append("/").append(name);
}

void PrivateDirectory::write(std::string_view name, std::string_view content) const {
  const std::string path = path_of(name);
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) fail_while("cannot write " + path);
}

}  // namespace nodepool::cli
