#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/node.h"
#include "tests/simulation/harness/known_settings.h"
#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

// Watches every transaction on the server, and reports a node that does not carry what its
// launcher was configured with when it began, and one that ends before its time.
class SettingsAuditor {
 public:
  SettingsAuditor(World& world, const KnownSettings& settings);
  ~SettingsAuditor();
  SettingsAuditor(const SettingsAuditor&) = delete;
  SettingsAuditor& operator=(const SettingsAuditor&) = delete;

 private:
  using Choice = std::vector<Settings>;

  void committed(const std::vector<coordination::WatchEvent>& events);
  void look_at_request_lock(const coordination::WatchEvent& event);
  void look_at_node(const coordination::WatchEvent& event);
  void begin(const model::Node& node);
  void check_made(const model::Node& node) const;
  void check_end_of_hold(const model::Node& before) const;

  World& world_;
  const KnownSettings& settings_;
  std::int64_t session_;
  std::map<std::string, Choice> at_lock_;     // by the contender's path: who serves a request
  std::map<std::string, model::Node> nodes_;  // as they were last
  std::map<std::string, std::map<std::string, Choice>> begun_with_;  // by node: those of at_lock_
};

}  // namespace nodepool::simulation
