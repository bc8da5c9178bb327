#include "tests/support/temporary_directory.h"

#include <stdlib.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

namespace nodepool::test_support {

namespace {

std::system_error file_error(const std::string& what) {
  return {errno, std::system_category(), what};
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string path = std::filesystem::temp_directory_path() / "nodepool-test-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw file_error("mkdtemp " + path);
  path_ = path;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryDirectory::write(const std::filesystem::path& name,
                                                std::string_view content) const {
  const auto path = path_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (!file) throw file_error("writing " + path.string());
  return path;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw file_error("reading " + path.string());
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

}  // namespace nodepool::test_support
