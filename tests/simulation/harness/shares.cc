#include "tests/simulation/harness/shares.h"

#include <fmt/format.h>

#include "tests/simulation/harness/chance.h"
#include "tests/simulation/harness/topology.h"

namespace nodepool::simulation {

namespace {

std::string owner() {
  return drivers::metastatic::owner_of(kSharesProvider);
}

ShareSpec draw_share(async::Random& random, const std::string& label) {
  ShareSpec share;
  share.label = label;
  share.backing_label = pick(random, kLabels);
  share.slots = between(random, 1, 4);
  share.grace_time = between(random, 0, 120);
  if (chance(random, 0.3)) share.min_retention = between(random, 1, 300);
  if (chance(random, 0.4)) share.max_age = share.min_retention + between(random, 1, 300);
  share.host_key_checking = chance(random, 0.5);
  return share;
}

}  // namespace

std::vector<ShareSpec> draw_shares(async::Random& random) {
  std::vector<ShareSpec> shares;
  for (const std::string& label : kShareLabels) {
    if (!shares.empty() && chance(random, 0.3)) continue;
    ShareSpec share = draw_share(random, label);
    if (!shares.empty() && share.backing_label == shares.front().backing_label) {
      share = shares.front();
      share.label = label;
    }
    shares.push_back(std::move(share));
  }
  return shares;
}

std::string to_yaml(const ShareSpec& share) {
  return fmt::format(
      "          - {{name: {}, backing-label: {}, max-parallel-jobs: {}, grace-time: {}, "
      "min-retention-time: {}, max-age: {}, host-key-checking: {}}}\n",
      share.label, share.backing_label, share.slots, share.grace_time, share.min_retention,
      share.max_age, share.host_key_checking);
}

std::optional<drivers::metastatic::BackingRecord> backing_record(const model::Node& node) {
  return drivers::metastatic::backing_record_of(node, owner());
}

bool is_share(const model::Node& node) {
  return node.provider == kSharesProvider;
}

bool is_backing_request(const model::NodeRequest& request) {
  return request.requestor == owner();
}

}  // namespace nodepool::simulation
