#include "tests/simulation/harness/disasters.h"

#include <algorithm>

#include "tests/simulation/harness/chance.h"

namespace nodepool::simulation {

namespace {

using Kind = Disaster::Kind;

// Tells this stream from that of the simulation itself.
constexpr std::uint64_t kStream = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kStreamOfShares = 0xc2b2ae3d27d4eb4f;
constexpr std::uint64_t kStreamOfAnswers = 0x165667b19e3779f9;
constexpr std::uint64_t kStreamOfHosts = 0x27d4eb2f165667c5;

constexpr std::uint64_t kOneInSoManyHasShares = 5;
constexpr double kChanceOfLoss = 0.6;  // of a backing node, and once more
constexpr double kChanceOfDisasters = 0.35;
constexpr double kChanceOfBadListings = 0.35;
constexpr double kChanceOfTokens = 0.2;
constexpr double kChanceOfFullDisk = 0.15;       // and once more
constexpr double kChanceOfRollingRestart = 0.2;  // and once more
constexpr double kChanceOfRestartWithShares = 0.5;
constexpr double kChanceOfStoreSwap = 0.3;  // among them
constexpr double kChanceOfForeigner = 0.4;
constexpr double kChanceOfTopLevelReload = 0.7;  // and once more

// Seconds. The longest that a launcher waits for is its launches' time limit.
constexpr double kShortest = 20;
constexpr double kLongest = 25 * 60;
constexpr double kLatestBegin = 300;

Disaster draw_disaster(async::Random& random) {
  static const std::vector<Kind> kKinds{Kind::store_away, Kind::cloud_away, Kind::reload};
  Disaster disaster;
  disaster.kind = pick(random, kKinds);
  disaster.after = seconds_between(random, 5, kLatestBegin);
  const double longest = chance(random, 0.5) ? kLongest : 2 * kShortest;
  disaster.lasts = seconds_between(random, kShortest, longest);
  disaster.sessions_are_lost = chance(random, 0.5);
  disaster.seed = random.next();
  return disaster;
}

// The store is replaced: once.
Disaster draw_store_swap(async::Random& random) {
  Disaster disaster = draw_disaster(random);
  disaster.kind = chance(random, 0.5) ? Kind::emptied : Kind::restored;
  disaster.backup_is_lost = chance(random, 0.3);
  return disaster;
}

void draw_shares_and_losses(Disasters& disasters, std::uint64_t seed) {
  async::Random random(seed ^ kStreamOfShares);
  disasters.shares_seed = random.next();
  while (chance(random, kChanceOfLoss)) {
    Disaster& loss = disasters.list.emplace_back();
    loss.kind = Kind::backing_node_lost;
    loss.after = seconds_between(random, 5, kLatestBegin);
    loss.seed = random.next();
  }
}

// Clouds that show what is not so any more, or a part of what is so, and whose tokens expire.
void draw_answers(Disasters& disasters, std::uint64_t seed) {
  async::Random random(seed ^ kStreamOfAnswers);
  CloudFaults& faults = disasters.cloud_faults;
  if (chance(random, kChanceOfBadListings)) {
    if (chance(random, 0.7)) faults.stale = random.fraction();
    const double most = std::chrono::duration<double>(Clouds::kMostStale).count();
    if (faults.stale > 0) faults.most_stale = most * random.fraction();
    if (chance(random, 0.7)) faults.cut = random.fraction();
  }
  if (!chance(random, kChanceOfTokens)) return;
  faults.token_life = 10 + 300 * random.fraction();
  if (!chance(random, 0.5)) return;
  Disaster& expired = disasters.list.emplace_back();
  expired.kind = Kind::credentials_expired;
  expired.after = seconds_between(random, 5, kLatestBegin);
  expired.lasts = seconds_between(random, kShortest, kLatestBegin);
}

// What befalls the hosts of the launchers and of the store.
void draw_hosts(Disasters& disasters, std::uint64_t seed) {
  async::Random random(seed ^ kStreamOfHosts);
  const auto add = [&](Kind kind) -> Disaster& {
    Disaster& disaster = disasters.list.emplace_back();
    disaster.kind = kind;
    disaster.after = seconds_between(random, 5, kLatestBegin);
    disaster.seed = random.next();
    return disaster;
  };
  while (chance(random, kChanceOfFullDisk)) {
    add(Kind::disk_full).lasts = seconds_between(random, 1, kLatestBegin);
  }
  const double restart =
      disasters.shares_seed ? kChanceOfRestartWithShares : kChanceOfRollingRestart;
  while (chance(random, restart)) {
    add(Kind::rolling_restart).lasts = std::chrono::seconds(60);  // about
    disasters.has_peers = true;
  }
}

}  // namespace

async::Duration Disasters::end() const {
  async::Duration end{};
  for (const Disaster& disaster : list) end = std::max(end, disaster.after + disaster.lasts);
  return end;
}

Disasters draw_disasters(std::uint64_t seed) {
  async::Random random(seed ^ kStream);
  Disasters disasters;
  if (seed % kOneInSoManyHasShares == 0) draw_shares_and_losses(disasters, seed);
  draw_answers(disasters, seed);
  draw_hosts(disasters, seed);
  if (!chance(random, kChanceOfDisasters)) return disasters;
  const auto count = between(random, 1, 3);
  for (std::int64_t i = 0; i < count; ++i) disasters.list.push_back(draw_disaster(random));
  if (chance(random, 0.5)) disasters.cloud_faults.unreadable = 0.3 * random.fraction();
  disasters.has_builder = chance(random, 0.5);
  disasters.seed = random.next();
  disasters.has_strangers = chance(random, 0.3);
  disasters.has_foreigner = chance(random, kChanceOfForeigner);
  while (chance(random, kChanceOfTopLevelReload)) {
    disasters.list.push_back(draw_disaster(random));
    disasters.list.back().kind = Kind::top_level;
    disasters.list.back().lasts = {};  // nobody takes it back
  }
  if (chance(random, kChanceOfStoreSwap)) disasters.list.push_back(draw_store_swap(random));
  return disasters;
}

}  // namespace nodepool::simulation
