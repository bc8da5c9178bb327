#include "coordination/sequence.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "coordination/path.h"

namespace nodepool::coordination {

namespace {

// Per transaction; well below a store's limit (kMaximumDataSize).
constexpr std::size_t kMostFillers = 500;

// The name of a temporary child. No record has such a name.
constexpr const char* kFiller = "store-copy-";

}  // namespace

Task<std::int64_t> next_sequence(Store& store, std::string parent) {
  const std::string path =
      co_await store.create(join_path(parent, kFiller), "", CreateMode::persistent_sequential);
  co_await store.remove(path, kAnyVersion);
  const std::string_view digits = std::string_view(path).substr(path.size() - kSequenceDigits);
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  co_return number;
}

Task<> advance_sequence(Store& store, std::string parent, std::int64_t number) {
  std::int64_t next = co_await next_sequence(store, parent) + 1;
  const std::string filler = join_path(parent, kFiller);
  while (next < number) {
    Transaction transaction;
    for (std::size_t i = 0; i < kMostFillers && next < number; ++i, ++next) {
      transaction.create(filler, "").remove(filler);
    }
    co_await store.commit(std::move(transaction));
  }
}

}  // namespace nodepool::coordination
