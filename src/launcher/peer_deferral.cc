#include "launcher/peer_deferral.h"

#include <fmt/format.h>

#include <utility>

namespace nodepool::launcher {

PeerDeferral::PeerDeferral(const async::Runtime& runtime, async::TaskScope& scope,
                           std::string_view what,
                           std::function<void(const std::string& id)> reevaluate)
    : runtime_(runtime), scope_(scope), what_(what), reevaluate_(std::move(reevaluate)) {}

bool PeerDeferral::defers(const std::string& id, async::Duration pause) {
  const auto now = runtime_.clock.now();
  const auto [known, is_new] = until_.try_emplace(id, now + pause);
  if (is_new) scope_.spawn(fmt::format("deferred {} {}", what_, id), wait(id, pause));
  if (known->second > now) return true;
  until_.erase(known);
  return false;
}

async::Task<> PeerDeferral::wait(std::string id, async::Duration pause) {
  co_await runtime_.clock.sleep_for(pause);
  reevaluate_(id);
}

}  // namespace nodepool::launcher
