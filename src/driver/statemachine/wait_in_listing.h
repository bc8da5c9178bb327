#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

// Decides when a thing that listings lack counts as gone. The patience begins with the first
// listing that lacks it: one listing alone, however late, may be incomplete.
class Absence {
 public:
  explicit Absence(async::Duration patience) : patience_(patience) {}

  // A listing shows the thing, or there was no listing.
  void reset() { since_.reset(); }

  // A listing that was read at `now` lacks the thing. Returns whether listings have lacked it for
  // longer than the patience.
  bool is_final(async::Clock::TimePoint now) {
    if (!since_) since_ = now;
    return now - *since_ > patience_;
  }

 private:
  async::Duration patience_;
  std::optional<async::Clock::TimePoint> since_;  // the first listing that lacks it
};

// Waits in a shared listing until `is_done(thing)` for the thing with this id, and returns it.
// `is_done` throws if the thing will never be done. `Things` is like cloud::ById. A failed poll is
// repeated; one that is not allowed, for Denials::kPatience. Throws what `is_done` throws; `error`
// is thrown once listings have lacked the thing for longer than `patience`. If listings may be
// incomplete, `is_gone` then reads the thing itself, and only if that is gone, `error` is thrown;
// empty: listings are complete.
template <typename Things, typename IsDone>
auto wait_in_listing(ListingWait context, SharedPoller<Things>& listing, PollWaiter& awaited,
                     std::string id, IsDone is_done, async::Duration patience, CloudError error,
                     std::function<async::Task<bool>()> is_gone = {})
    -> async::Task<typename Things::Thing> {
  async::Clock& clock = context.runtime.clock;
  Absence absence(patience);
  Denials denials(clock);
  while (true) {
    const auto things =
        co_await if_answered(listing.next(awaited), context.things, context.log, &denials);
    const auto* thing = things ? things->find(id) : nullptr;
    if (thing != nullptr && is_done(*thing)) co_return *thing;
    if (!things || thing != nullptr) {
      absence.reset();
      continue;
    }
    if (!absence.is_final(clock.now())) continue;
    if (!is_gone) throw CloudError(error);
    async::Task<bool> asking = is_gone();
    const bool gone =
        co_await if_answered(std::move(asking), context.things, context.log, &denials);
    if (gone) throw CloudError(error);
    absence.reset();
  }
}

// What an entry of a listing says of a deletion that the cloud has accepted.
enum class Removal { not_begun, in_progress, done };

// Waits in a shared listing until the deletion of the thing with this id is done: until
// `removal_of(thing)` says so, or a listing lacks the thing after one that has shown the deletion
// in progress. If there was none, or the listing is unknown, it may be incomplete or old: `is_gone`
// then reads the thing itself, and unless that is gone, the wait continues after `patience`.
// `is_gone` is empty if listings are complete and known. Returns the last entry if it says that the
// deletion is done. A failed poll is repeated. Throws what `removal_of` throws.
template <typename Things, typename RemovalOf>
auto wait_until_gone(ListingWait context, SharedPoller<Things>& listing, PollWaiter& awaited,
                     std::string id, RemovalOf removal_of, async::Duration patience = {},
                     std::function<async::Task<bool>()> is_gone = {})
    -> async::Task<std::optional<typename Things::Thing>> {
  bool is_absence_final = !is_gone;
  while (true) {
    const auto things = co_await if_answered(listing.next(awaited), context.things, context.log);
    if (!things) continue;
    if (const auto* thing = things->find(id)) {
      const Removal removal = removal_of(*thing);
      if (removal == Removal::done) co_return *thing;
      if (removal == Removal::in_progress) is_absence_final = true;
      continue;
    }
    if (is_absence_final && things->is_known()) co_return std::nullopt;
    async::Task<bool> asking = is_gone();
    const bool gone = co_await if_answered(std::move(asking), context.things, context.log);
    if (gone) co_return std::nullopt;
    co_await context.runtime.clock.sleep_for(patience);
  }
}

}  // namespace nodepool::driver
