#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/resources.h"

// What a provider offers to planning, as values.
namespace nodepool::driver {

// What a pool offers for one label.
struct LabelOffer {
  Resources need{{{"instances", 1}}};  // of one node
  // Why the label cannot be served at present, as a sentence: for example, its image or flavor is
  // missing. Empty: it can.
  std::string problem = {};
  bool is_problem_on_record = false;  // the store tells it, not the cloud
  std::string diskimage = {};         // that its nodes boot from; empty: none of ours

  friend bool operator==(const LabelOffer&, const LabelOffer&) = default;
};

// The labels of each node that a pool has when all of them are healthy.
using Inventory = std::vector<std::vector<std::string>>;

// What one pool offers.
struct PoolOffer {
  std::map<std::string, LabelOffer, std::less<>> labels = {};
  // The availability zones. All nodes of one request share a zone. Empty: the provider chooses.
  std::vector<std::string> zones = {};
  // Of a pool that launches no nodes: it can never serve a request whose labels these nodes do not
  // cover at once. Nothing: unlimited.
  std::optional<Inventory> inventory = {};
};

struct Offer {
  bool launches = false;  // whether the provider launches nodes for requests
  // At a machine, before its request is declined. 0: it launches no machines, and another launcher
  // cannot resume its launches.
  std::int64_t launch_attempts = 0;
  std::map<std::string, PoolOffer, std::less<>> pools = {};

  // The defaults for an unknown pool or label.
  const PoolOffer& pool(std::string_view name) const;
  const LabelOffer& label(std::string_view pool, std::string_view label) const;
};

// How many nodes the inventory has for each of its labels.
std::map<std::string, std::int64_t, std::less<>> count_by_label(const Inventory& inventory);

}  // namespace nodepool::driver
