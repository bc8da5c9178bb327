#include "tests/coordination/sqlite/temporary_directory.h"

#include <stdlib.h>

#include <cerrno>
#include <system_error>

namespace nodepool::coordination::sqlite {

TemporaryDirectory::TemporaryDirectory() {
  std::string name = std::filesystem::temp_directory_path() / "nodepool-sqlite-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace nodepool::coordination::sqlite
