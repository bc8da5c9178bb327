#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/harness/auditor.h"
#include "tests/simulation/harness/cloud.h"
#include "tests/simulation/harness/custody.h"
#include "tests/simulation/harness/topology.h"

namespace nodepool::simulation {

// Reports what is not as it should be once nobody wants anything any more.
class RestCheck {
 public:
  RestCheck(World& world, const Auditor& auditor, const Clouds& clouds, const Custody& custody,
            const Topology& topology)
      : world_(world), auditor_(auditor), clouds_(clouds), custody_(custody), topology_(topology) {}

  // The requests that have no answer.
  std::vector<std::string> unanswered() const;
  // There are none.
  void requests_are_answered() const;

  // Nothing is left of requests, locks and machines, and there is every node that there should be.
  void all_is_in_order() const;

  // Whether there are as many nodes in stock as the configuration wants.
  bool min_ready_is_met() const;

 private:
  // Nodes with the label that wait for somebody to ask for them.
  std::int64_t stock(const std::string& label) const;
  void check_cloud(const ProviderSpec& provider) const;
  void check_shares(const ProviderSpec& provider) const;
  void check_machines() const;
  void check_slots(const ProviderSpec& provider) const;

  World& world_;
  const Auditor& auditor_;
  const Clouds& clouds_;
  const Custody& custody_;
  const Topology& topology_;
};

}  // namespace nodepool::simulation
