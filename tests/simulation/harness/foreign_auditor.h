#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/node.h"
#include "model/node_request.h"
#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

// Watches every transaction on the server, and reports each launcher that touches what is the
// ForeignProcess's.
class ForeignAuditor {
 public:
  explicit ForeignAuditor(World& world);
  ~ForeignAuditor();
  ForeignAuditor(const ForeignAuditor&) = delete;
  ForeignAuditor& operator=(const ForeignAuditor&) = delete;

 private:
  void committed(const std::vector<coordination::WatchEvent>& events);
  void look_at_node(const std::string& path);
  void look_at_request(const std::string& path);
  void check(const model::Node& before, const model::Node* after) const;
  void check(const model::NodeRequest& before, const model::NodeRequest& after) const;
  bool is_locked(const std::string& lock_root) const;

  World& world_;
  std::int64_t session_;
  std::map<std::string, model::Node> nodes_;
  std::map<std::string, model::NodeRequest> requests_;
};

}  // namespace nodepool::simulation
