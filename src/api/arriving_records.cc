#include "api/arriving_records.h"

#include <algorithm>
#include <optional>

#include "async/event.h"
#include "coordination/error.h"
#include "model/paths.h"

namespace nodepool::api {

using async::Task;
using coordination::StoreError;

namespace {

// Whether the index may have only some of the lease's nodes yet: their records arrive one by one.
bool is_arriving(const Call& call, const LeaseIndex::Entry& entry) {
  if (!entry.lease) return false;
  const model::NodeTable& nodes = call.context.records.nodes;
  return !nodes.ready() || std::ranges::any_of(nodes.allocated_to(call.id), [&](const auto& id) {
    return nodes.find(id)->state == model::NodeState::ready;
  });
}

}  // namespace

Task<> read_from_store(Call& call) {
  std::optional<coordination::Entry> entry;
  try {
    entry = co_await call.context.store.get(model::request_path(call.id));
  } catch (const StoreError& error) {
    if (!error.is_rejection()) throw;
  }
  if (entry) call.context.records.requests.seen(call.id, *entry);
}

Task<> wait_for_records(Call& call, std::function<bool()> is_done) {
  async::Clock& clock = call.context.runtime.clock;
  const async::Clock::TimePoint arrival = clock.now() + kReplicationDelay;
  async::Event changed;
  const coordination::Subscription watching =
      call.context.lease_index.observe(call.id, [&changed] { changed.set(); });
  const coordination::Subscription readiness =
      call.context.records.nodes.observe_readiness([&changed](bool) { changed.set(); });
  while (!is_done()) {
    if (!co_await changed.wait_until(clock, arrival)) co_return;
  }
}

Task<> wait_for_record(Call& call) {
  if (call.context.lease_index.find(call.id) != nullptr) co_return;
  co_await read_from_store(call);
  const std::function<bool()> is_there = [&call] {
    return call.context.lease_index.find(call.id) != nullptr;
  };
  co_await wait_for_records(call, is_there);
}

Task<> wait_for_lease(Call& call) {
  const std::function<bool()> is_leased = [&call] {
    const LeaseIndex::Entry* entry = call.context.lease_index.find(call.id);
    return entry != nullptr && entry->lease;
  };
  co_await wait_for_records(call, is_leased);
}

Task<> wait_for_nodes(Call& call) {
  const std::function<bool()> is_complete = [&call] {
    const LeaseIndex::Entry* entry = call.context.lease_index.find(call.id);
    return entry == nullptr || !is_arriving(call, *entry);
  };
  co_await wait_for_records(call, is_complete);
}

Task<> require_complete_records(Call& call, async::Clock::TimePoint deadline) {
  co_await call.context.records.ready_by(deadline);
  require_ready(call.context.records);
}

}  // namespace nodepool::api
