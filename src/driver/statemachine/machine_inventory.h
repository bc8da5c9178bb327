#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/runtime.h"
#include "async/shared_result.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/instance.h"
#include "model/node.h"
#include "model/node_table.h"
#include "telemetry/log.h"

namespace nodepool::driver {

// A listing of a cloud's machines, indexed by the identifiers in their external ids.
class IndexedMachines {
 public:
  IndexedMachines(MachineList list, async::Clock::TimePoint asked_at);

  const std::vector<Machine>& all() const { return list_.machines; }
  bool is_complete() const { return list_.is_complete; }
  // When the adapter was asked. What it answers may be older by Adapter::kListingAge.
  async::Clock::TimePoint asked_at() const { return asked_at_; }
  // The machine with this external id; nullptr if it is not listed.
  const Machine* find(const model::Json& external_id) const;

 private:
  MachineList list_;
  async::Clock::TimePoint asked_at_;
  std::multimap<std::string, std::size_t, std::less<>> index_;
};

// Answers questions about the machines of a provider's cloud from listings that all questions
// share. Throws CloudError unless it says otherwise.
class MachineInventory {
 public:
  using Pointer = std::shared_ptr<const IndexedMachines>;

  // `adapter` outlives it.
  MachineInventory(const async::Runtime& runtime, Adapter& adapter, telemetry::Logger log);

  // A listing that was asked for at most `age` ago.
  Task<Pointer> list(async::Duration age = {}) { return listing_.get(age); }

  // Whether the machine of a ready node runs. A machine that does not is looked for in another
  // listing; one that is not listed either is read itself. A missing machine counts as running if
  // it may only be missing from the listings, such as soon after the node's `state_time`. Waits for
  // a slow cloud for two seconds, unless its last listing shows that the machine does not run.
  // Never throws CloudError: what cannot be asked counts as running, with a warning. Without one if
  // the cloud is only slow, and a listing of the last 90 seconds shows that the machine runs.
  Task<bool> is_running(std::string node_id, model::Json external_id, double state_time);

  // The nodes whose machines have ended, and why, as one sentence. Omits nodes that are being
  // launched, and those whose state has changed so recently that the listing may be older. `nodes`
  // outlives the call.
  Task<std::map<std::string, std::string>> terminated(const model::NodeTable& nodes);

  // Forgets the last listing.
  void forget() { listing_.drop(); }

  // Call it after the last call of the other functions has returned.
  Task<> stop() { return listing_.stop(); }

 private:
  async::Clock::TimePoint deadline_of_check(const IndexedMachines* last,
                                            const model::Json& external_id,
                                            double state_time) const;
  Task<bool> runs_or_is_unknown(model::Json external_id);
  bool may_precede(const IndexedMachines& machines, double state_time) const;
  bool may_be_hidden(double state_time, const IndexedMachines& machines) const;
  bool has_changed_within(double state_time, async::Duration age) const;

  async::Runtime runtime_;
  Adapter& adapter_;
  telemetry::Logger log_;
  async::SharedResult<IndexedMachines> listing_;
};

}  // namespace nodepool::driver
