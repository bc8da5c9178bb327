#include "coordination/sqlite/file_error.h"

#include <cerrno>
#include <system_error>

namespace nodepool::coordination::sqlite {

bool is_lack_of_space(int reason) {
  return reason == ENOSPC || reason == EDQUOT;
}

StoreError file_error(std::string_view path, std::string_view doing, int reason,
                      std::string_view advice) {
  const bool is_full = is_lack_of_space(reason);
  if (is_full) advice = "free space on its file system; the store then recovers by itself";
  std::string detail("cannot ");
  detail.append(doing).append(": ").append(std::generic_category().message(reason));
  if (!advice.empty()) detail.append("; ").append(advice);
  return store_error(is_full ? StoreError::Kind::no_space : StoreError::Kind::storage, path,
                     detail);
}

}  // namespace nodepool::coordination::sqlite
