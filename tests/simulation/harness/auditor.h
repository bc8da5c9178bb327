#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"
#include "model/node_request.h"
#include "tests/simulation/harness/holds.h"
#include "tests/simulation/harness/known_limits.h"
#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

// Watches every transaction on the server, as it is committed, and reports each that breaks a
// promise of the launcher to its requestors. It keeps a copy of the records of its own.
class Auditor {
 public:
  Auditor(World& world, const Holds& holds, const KnownLimits& limits);
  ~Auditor();
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  const std::map<std::string, model::Node>& nodes() const { return nodes_; }
  const std::map<std::string, model::NodeRequest>& requests() const { return requests_; }

  // Paths of all contenders for any lock, with the sessions they belong to (0: none).
  const std::map<std::string, std::int64_t>& contenders() const { return contenders_; }

  // How many transactions there have been.
  std::uint64_t transactions() const { return transactions_; }

 private:
  void committed(const std::vector<coordination::WatchEvent>& events);
  void refresh(const coordination::WatchEvent& event);
  void learn_about(const std::string& id);
  void refresh_contender(const coordination::WatchEvent& event);

  bool launcher_acts() const;
  bool is_own_backing_request(const model::NodeRequest& request) const;
  void check_node(const model::Node& before, const model::Node* after);
  void check_deallocation(const model::Node& before);
  void check_allocation(const model::Node& before, const model::Node& after);
  void check_launches();
  void check_limits(const model::Node& launched, const std::string& last);
  void check_request(const model::NodeRequest& before, const model::NodeRequest& after);
  void check_fulfilled(const model::NodeRequest& request);
  void check_contender_removed(const std::string& path);
  void note(const coordination::WatchEvent& event);

  struct LockHolder {
    std::string path;
    std::int64_t session = -1;  // nobody
  };
  void look_for_lowest(const std::map<std::string, std::int64_t>& contenders, const std::string& id,
                       bool also_added, LockHolder& lowest) const;
  // The lowest contender for a node's lock, before and after this transaction.
  LockHolder lock_holder_before(const std::string& id) const;
  LockHolder lock_holder_now(const std::string& id) const;
  void violation(std::string_view text);

  World& world_;
  const Holds& holds_;
  const KnownLimits& limits_;
  std::int64_t session_;
  std::uint64_t transactions_ = 0;
  std::map<std::string, model::Node> nodes_;
  std::map<std::string, model::NodeRequest> requests_;
  std::map<std::string, std::int64_t> contenders_;
  std::map<std::string, std::string> launched_for_;  // node id -> tenant, if there is one
  // What the transaction that is being looked at has changed, as it was before.
  std::map<std::string, model::Node> nodes_before_;
  std::map<std::string, model::NodeRequest> requests_before_;
  std::map<std::string, std::int64_t> contenders_removed_;
  std::set<std::string> contenders_added_;
};

}  // namespace nodepool::simulation
