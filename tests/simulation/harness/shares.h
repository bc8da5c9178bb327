#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/random.h"
#include "drivers/metastatic/backing_record.h"
#include "model/node.h"
#include "model/node_request.h"

// Nodes on nodes: a provider with the metastatic driver, whose backing nodes the other providers
// make.
namespace nodepool::simulation {

inline const std::vector<std::string> kShareLabels{"half", "quarter"};
inline constexpr const char* kSharesProvider = "shares";

// A label of that provider.
struct ShareSpec {
  std::string label;
  std::string backing_label;
  std::int64_t slots = 1;
  // Seconds.
  std::int64_t grace_time = 60;
  std::int64_t min_retention = 0;
  std::int64_t max_age = 0;  // 0: unlimited
  bool host_key_checking = false;

  friend bool operator==(const ShareSpec&, const ShareSpec&) = default;
};

// Both labels, or one of them; those with the same backing label have the same rules.
std::vector<ShareSpec> draw_shares(async::Random& random);

// The section of the label.
std::string to_yaml(const ShareSpec& share);

// The record of a backing node; nothing if the node is none.
std::optional<drivers::metastatic::BackingRecord> backing_record(const model::Node& node);

// Whether the node is one on a backing node.
bool is_share(const model::Node& node);

// Whether a node is asked for to be a backing node.
bool is_backing_request(const model::NodeRequest& request);

}  // namespace nodepool::simulation
