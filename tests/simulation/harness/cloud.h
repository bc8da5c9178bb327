#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/clock.h"
#include "driver/images.h"
#include "driver/resources.h"
#include "tests/simulation/harness/journal.h"

namespace nodepool::simulation {

// What a node with this label takes, in every cloud.
driver::Resources label_resources(std::string_view label);

// How far what a cloud says can be trusted. Chances are from 0 to 1, for each answer.
struct CloudFaults {
  double unreadable = 0;             // it cannot be read, and what was asked for is done
  double stale = 0;                  // a listing shows what there was some time ago
  double most_stale = 0;             // seconds: how long ago, at most
  double cut = 0;                    // a listing lacks a part
  double token_life = 0;             // seconds; 0: calls need no token
  bool refuses_credentials = false;  // there are no new tokens
};

// The machines behind the providers that launch, and what these providers may take at most.
class Clouds {
 public:
  // The longest CloudFaults::most_stale.
  static constexpr auto kMostStale = std::chrono::seconds(60);

  Clouds(const async::VirtualClock& clock, Journal& journal) : clock_(clock), journal_(journal) {}

  void set_limits(const std::string& provider, driver::Limits limits);
  const driver::Limits& limits(const std::string& provider) const;

  // Whether one more machine fits into what the provider allows.
  bool has_room(const std::string& provider, const driver::Resources& need) const;

  // Images that a builder has uploaded. Returns the new one's id.
  std::string add_image(const std::string& provider);
  void remove_image(const std::string& id) { images_.erase(id); }
  bool has_image(const std::string& id) const { return images_.contains(id); }

  // Harmless if there is no such machine.
  void remove(const std::string& id);

  struct Machine {
    std::string provider;
    driver::Resources resources;
    driver::Metadata metadata;
    std::uint64_t era = 0;  // of node ids
    async::Clock::TimePoint made_at{};
    async::Clock::TimePoint gone_at = async::Clock::TimePoint::max();
    bool was_hidden = false;  // from a listing
  };

  // Makes a machine and returns its id. A second one for the same node is a violation, unless a
  // listing has hidden the first one.
  std::string make(Machine machine);

  // The provider's machines as they were at this time, no longer ago than kMostStale, by their ids.
  std::vector<std::pair<std::string, Machine>> machines_of(const std::string& provider,
                                                           async::Clock::TimePoint when) const;

  // A listing does not show the machine though it is there.
  void hide(const std::string& id);

  // From now on the ids of nodes may stand for others than before.
  void forget_nodes() { ++era_; }

  const std::map<std::string, Machine>& machines() const { return machines_; }

 private:
  const async::VirtualClock& clock_;
  Journal& journal_;
  std::map<std::string, driver::Limits> limits_;  // by provider
  std::map<std::string, Machine> machines_;       // by id
  std::map<std::string, Machine> gone_;           // not long ago
  std::set<std::string> images_;                  // ids
  std::uint64_t made_ = 0;
  std::uint64_t era_ = 0;
  std::uint64_t uploaded_ = 0;
};

}  // namespace nodepool::simulation
