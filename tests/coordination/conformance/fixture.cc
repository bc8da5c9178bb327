#include <chrono>

#include "tests/coordination/conformance.h"
#include "tests/support/patience.h"

namespace nodepool::coordination::conformance {

namespace {

Task<bool> wait_for(const std::function<bool()>& condition, async::Clock& clock) {
  const auto deadline = clock.now() + test_support::kPatience;
  while (!condition()) {
    if (clock.now() > deadline) co_return false;
    co_await clock.sleep_for(std::chrono::milliseconds(1));
  }
  co_return true;
}

std::string line_for(const WatchEvent& event) {
  switch (event.kind) {
    case WatchEvent::Kind::created:
      return "created " + event.path;
    case WatchEvent::Kind::changed:
      return "changed " + event.path;
    case WatchEvent::Kind::removed:
      return "removed " + event.path;
    case WatchEvent::Kind::resync:
      return "resync";
  }
  return "unknown";
}

}  // namespace

bool StoreFixture::run_until(const std::function<bool()>& condition) {
  return loop_.run(wait_for(condition, clock_));
}

WatchLog::WatchLog(StoreFixture& fixture, Store& store, std::string root) : fixture_(fixture) {
  subscription_ = store.watch(std::move(root), [lines = lines_](const WatchEvent& event) {
    lines->push_back(line_for(event));
  });
}

bool WatchLog::run_until_last_is(std::string_view line) {
  return fixture_.run_until([this, line] { return !lines_->empty() && lines_->back() == line; });
}

bool WatchLog::run_until_size_is(std::size_t count) {
  return fixture_.run_until([this, count] { return lines_->size() >= count; });
}

void StoreConformance::expect_refused_at(std::size_t index, StoreError::Kind kind,
                                         const Transaction& transaction) {
  const std::string& path = transaction.operations()[index].path;
  try {
    run(store_->commit(transaction));
    ADD_FAILURE() << "not rejected: " << path;
  } catch (const TransactionError& error) {
    EXPECT_EQ(error.index(), index);
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(path), std::string_view::npos) << error.what();
  }
}

}  // namespace nodepool::coordination::conformance
