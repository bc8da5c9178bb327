#pragma once

#include <chrono>
#include <functional>

#include "api/call.h"
#include "async/clock.h"

// Waits of calls for records that other launchers have written, and that this launcher may not have
// yet. `call.id` is the id of a request or lease. All functions throw Cancelled.
namespace nodepool::api {

// How long a record that another launcher has written may take to arrive here.
inline constexpr auto kReplicationDelay = std::chrono::milliseconds(500);

// Reads the request from the store. Throws StoreError.
async::Task<> read_from_store(Call& call);

// Waits up to kReplicationDelay for records of the request or lease, until `is_done`.
async::Task<> wait_for_records(Call& call, std::function<bool()> is_done);

// Waits up to kReplicationDelay for the record of the request or lease, if there is none. Throws
// StoreError.
async::Task<> wait_for_record(Call& call);

// Waits up to kReplicationDelay for the lease.
async::Task<> wait_for_lease(Call& call);

// Waits up to kReplicationDelay for all nodes of a lease.
async::Task<> wait_for_nodes(Call& call);

// What the tables lack is known to be absent only if they are complete: waits until they are.
// Throws CallError (503) if they are not by `deadline`.
async::Task<> require_complete_records(Call& call, async::Clock::TimePoint deadline);

}  // namespace nodepool::api
