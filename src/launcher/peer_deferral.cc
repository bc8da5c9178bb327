#include "launcher/peer_deferral.h"

#include <fmt/format.h>

#include <utility>

namespace nodepool::launcher {

PeerDeferral::PeerDeferral(const async::Runtime& runtime, async::TaskScope& scope,
                           std::string_view what,
                           std::function<void(const std::string& id)> reevaluate_in)
    : runtime_(runtime), scope_(scope), what_(what), look_again_(std::move(reevaluate_in)) {}

bool PeerDeferral::leaves(const std::string& id, async::Duration pause) {
  const auto now = runtime_.clock.now();
  const auto [known, is_new] = until_.try_emplace(id, now + pause);
  if (is_new) scope_.spawn(fmt::format("{} {}, left to others", what_, id), wait(id, pause));
  if (known->second > now) return true;
  until_.erase(known);
  return false;
}

async::Task<> PeerDeferral::wait(std::string id, async::Duration pause) {
  co_await runtime_.clock.sleep_for(pause);
  look_again_(id);
}

}  // namespace nodepool::launcher
