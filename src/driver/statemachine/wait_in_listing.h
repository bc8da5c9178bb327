#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "async/runtime.h"
#include "driver/cloud_error.h"
#include "driver/statemachine/shared_poller.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// How to wait for a thing in a listing.
struct ListingWait {
  async::Runtime runtime;
  telemetry::Logger log;
  std::string_view things;  // what is listed, for the log: "servers"
};

// Waits in a shared listing until `is_done(thing)` for the thing with this id, and returns it.
// `is_done` throws if the thing will never be done. `Things` is like cloud::ById. A failed poll is
// repeated. Throws what `is_done` throws; `absence` is thrown once listings have lacked the thing
// for longer than `patience`.
template <typename Things, typename IsDone>
auto wait_in_listing(ListingWait context, SharedPoller<Things>& listing, PollWaiter& awaited,
                     std::string id, IsDone is_done, async::Duration patience, CloudError absence)
    -> async::Task<typename Things::Thing> {
  async::Clock& clock = context.runtime.clock;
  auto last_seen = clock.now();
  while (true) {
    const auto things = co_await if_answered(listing.next(awaited), context.things, context.log);
    const auto* thing = things ? things->find(id) : nullptr;
    if (thing != nullptr && is_done(*thing)) co_return *thing;
    if (thing != nullptr || !things) last_seen = clock.now();
    if (clock.now() - last_seen > patience) throw CloudError(absence);
  }
}

// Waits in a shared listing until `is_gone(thing)`, or the thing with this id is not listed.
// Returns its last entry. A failed poll is repeated. Throws what `is_gone` throws.
template <typename Things, typename IsGone>
auto wait_until_gone(ListingWait context, SharedPoller<Things>& listing, PollWaiter& awaited,
                     std::string id, IsGone is_gone)
    -> async::Task<std::optional<typename Things::Thing>> {
  while (true) {
    const auto things = co_await if_answered(listing.next(awaited), context.things, context.log);
    if (!things) continue;
    const auto* thing = things->find(id);
    if (thing == nullptr) co_return std::nullopt;
    if (is_gone(*thing)) co_return *thing;
  }
}

}  // namespace nodepool::driver
