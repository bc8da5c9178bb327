#include "coordination/sqlite/free_space.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace nodepool::coordination::sqlite {

namespace {

// Several times what SQLite's write-ahead log usually grows to before it is reused.
constexpr std::uintmax_t kLittleMebibytes = 16;

}  // namespace

std::string space_problem(const std::string& path) {
  std::error_code error;
  const auto space = std::filesystem::space(path, error);
  if (error || space.available >= kLittleMebibytes << 20) return {};
  // Without the current number: the text is compared with the previous one.
  return "less than " + std::to_string(kLittleMebibytes) +
         " MiB are free on the disk of the store " + path;
}

}  // namespace nodepool::coordination::sqlite
