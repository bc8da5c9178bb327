#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "async/clock.h"
#include "tests/simulation/harness/cloud.h"

namespace nodepool::simulation {

// What befalls the whole installation rather than one of its processes, and may last longer than
// anything that a launcher waits for.
struct Disaster {
  enum class Kind {
    store_away,         // nobody reaches the store
    cloud_away,         // no cloud answers
    reload,             // of a section that an ordinary change of the configuration leaves alone
    top_level,          // the same for what belongs to no provider
    emptied,            // the store, under everybody's hands
    restored,           // with all processes down: an older store, or an empty one, takes its place
    backing_node_lost,  // somebody takes it out of use, whoever is on it
    credentials_expired,  // the clouds accept no new ones until it is over
    disk_full,            // that of the store, or of logs and history, or both
    rolling_restart,      // of all launchers
  };
  Kind kind = Kind::store_away;
  async::Duration after{};         // from the beginning of the run
  async::Duration lasts{};         // a reload: until it is taken back
  bool sessions_are_lost = false;  // of the store
  bool backup_is_lost = false;     // an empty store takes its place
  std::uint64_t seed = 0;          // of what it draws
};

struct Disasters {
  std::vector<Disaster> list;
  CloudFaults cloud_faults;
  bool has_builder = false;    // whose uploads come and go
  bool has_foreigner = false;  // another launcher and requestor use the same store
  bool has_strangers = false;  // machines of others carry the providers' names
  bool has_peers = false;      // two launchers serve the same
  std::uint64_t seed = 0;      // of the builder
  // Of the provider of nodes on nodes; nothing: there is none.
  std::optional<std::uint64_t> shares_seed = {};

  // When the last one is over, from the beginning of the run.
  async::Duration end() const;
};

// Most runs have none. They have a stream of their own, so that runs without them are what they
// would be if there were none at all.
Disasters draw_disasters(std::uint64_t seed);

}  // namespace nodepool::simulation
