#include "model/followed_installation.h"

#include <chrono>
#include <string>
#include <utility>

#include "model/record.h"

namespace nodepool::model {

namespace {

using coordination::StoreError;
using coordination::Task;

constexpr auto kLookAgainPause = std::chrono::seconds(1);

}  // namespace

FollowedInstallation::FollowedInstallation(const async::Runtime& runtime,
                                           coordination::Store& store, telemetry::Logger log)
    : runtime_(runtime), store_(store), log_(std::move(log)) {}

Task<> FollowedInstallation::start() {
  *current_ = co_await establish_installation(store_, runtime_.random);
}

Task<> FollowedInstallation::run() {
  const coordination::Subscription watching = store_.watch(
      std::string(kInstallationPath), [this](const coordination::WatchEvent&) { changed_.set(); });
  while (true) {
    co_await changed_.wait();
    co_await wait_until_known();
  }
}

Task<> FollowedInstallation::wait_until_known() {
  while (true) {
    bool is_away = false;
    std::string failure;
    try {
      co_await look();
    } catch (const StoreError& error) {
      if (error.kind() == StoreError::Kind::closed) throw;
      is_away = true;
    } catch (const RecordError& error) {
      failure = error.what();
    }
    if (!failure.empty()) log_.error("Going on as installation {}: {}", current_->id, failure);
    if (!is_away) co_return;
    co_await runtime_.clock.sleep_for(kLookAgainPause);
  }
}

Task<> FollowedInstallation::look() {
  Installation stored = co_await find_installation(store_);
  if (stored == *current_) co_return;
  if (stored.id.empty()) stored = co_await renew_installation(store_, runtime_.random);
  log_.error(
      "The store is not that of installation {} any more, and goes on as {}: what that one has "
      "made is left alone (`nodepool leak-list`)",
      current_->id, stored.id);
  *current_ = std::move(stored);
}

}  // namespace nodepool::model
