#include "builder/graceful_stop.h"

#include <chrono>

namespace nodepool::builder {

namespace {

using coordination::SessionState;

// Several session timeouts.
constexpr auto kLongestOutage = std::chrono::minutes(1);

}  // namespace

Task<> GracefulStop::run() {
  has_begun_ = true;
  begun_.set();
  async::Event changed("the state of the store's session");
  const coordination::Subscription session =
      store_.on_session([&changed](SessionState) { changed.set(); });
  while (true) {
    const auto longest = runtime_.clock.now() + kLongestOutage;
    if (store_.session_state() == SessionState::connected) {
      has_lost_store_ = false;
      co_await changed.wait();
    } else if (has_lost_store_) {
      co_await changed.wait();
    } else if (!co_await changed.wait_until(runtime_.clock, longest)) {
      log_.warning("The store is unreachable: stopping without it");
      has_lost_store_ = true;
      store_lost_.set();
    }
  }
}

Task<> GracefulStop::sleep_for(async::Duration pause) {
  if (!has_begun_) co_await begun_.wait_until(runtime_.clock, runtime_.clock.now() + pause);
}

Task<> GracefulStop::until_store_is_lost() {
  while (!has_lost_store_) co_await store_lost_.wait();
}

}  // namespace nodepool::builder
