#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/metastatic/backing_record.h"
#include "model/node.h"
#include "model/node_request.h"
#include "tests/simulation/harness/process.h"
#include "tests/simulation/harness/topology.h"

namespace nodepool::simulation {

// Watches every transaction on the server, and reports what must not happen to backing nodes: one
// that is given back while a node is on it or before its time, that has more nodes than slots, or
// gets one when it is too old; and one that is asked for twice.
class SharesAuditor {
 public:
  explicit SharesAuditor(World& world);
  ~SharesAuditor();
  SharesAuditor(const SharesAuditor&) = delete;
  SharesAuditor& operator=(const SharesAuditor&) = delete;

  // This is what launchers are given from now on.
  void configured(const Topology& topology);

 private:
  using BackingRecord = drivers::metastatic::BackingRecord;

  // Of all configurations that there ever were, what demands the least.
  struct Rules {
    ShareSpec last;
    std::optional<std::int64_t> last_max_servers;
    std::int64_t grace_time = 0;
    std::int64_t min_retention = 0;
    std::optional<std::int64_t> least_max_age;
    std::optional<std::int64_t> most_max_age;  // nothing: unlimited
    std::int64_t slots = 0;                    // the most
    bool was_gone = false;                     // for a while
    bool has_changed = false;                  // or its pool
  };

  void committed(const std::vector<coordination::WatchEvent>& events);
  void look_at_node(const std::string& path);
  void look_at_request(const std::string& path);
  void check_need(const model::NodeRequest& request) const;
  void check_record(const std::string& id, const BackingRecord& record) const;
  void check_arrivals(const model::Node& before, const BackingRecord& after) const;
  void check_age(const model::Node& before, const BackingRecord& record,
                 const std::string& tenant) const;
  void check_release(const model::Node& before, const BackingRecord& record) const;
  void check_loss(const model::Node& before) const;
  void check_places() const;
  const Rules* rules_of(const BackingRecord& record) const;
  bool launcher_acts() const;

  World& world_;
  std::int64_t session_;
  std::map<std::string, Rules> rules_;  // by label
  std::map<std::string, model::Node> backing_;
  std::map<std::string, drivers::metastatic::Slot> shares_;  // by node
  std::map<std::string, std::set<std::string>> launched_;    // by label: nodes
  std::map<std::string, std::size_t> removed_by_others_;     // of these, by label: how many
  std::map<std::string, model::NodeRequest> requests_;       // for backing nodes
};

}  // namespace nodepool::simulation
