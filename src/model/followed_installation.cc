#include "model/followed_installation.h"

#include <chrono>
#include <string>
#include <utility>

#include "model/record.h"

namespace nodepool::model {

namespace {

using coordination::StoreError;
using coordination::Task;

constexpr auto kRetryPause = std::chrono::seconds(1);

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
    bool is_unreachable = false;
    std::string failure;
    try {
      co_await refresh();
    } catch (const StoreError& error) {
      if (error.kind() == StoreError::Kind::closed) throw;
      is_unreachable = true;
    } catch (const RecordError& error) {
      failure = error.what();
    }
    if (!failure.empty()) log_.error("Keeping the installation id {}: {}", current_->id, failure);
    if (!is_unreachable) co_return;
    co_await runtime_.clock.sleep_for(kRetryPause);
  }
}

Task<> FollowedInstallation::refresh() {
  Installation stored = co_await find_installation(store_);
  if (stored == *current_) co_return;
  if (stored.id.empty()) {
    co_await runtime_.clock.sleep_until(renewals_.next());
    renewals_.done(runtime_.clock.now());
    stored = co_await renew_installation(store_, runtime_.random);
  }
  log_.error(
      "The installation id of the store has changed from {} to {}: resources with the old owner "
      "tag "
      "are left alone, see `nodepool leak-list`",
      current_->id, stored.id);
  *current_ = std::move(stored);
}

}  // namespace nodepool::model
