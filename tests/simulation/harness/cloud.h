#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "driver/images.h"
#include "driver/resources.h"
#include "tests/simulation/harness/journal.h"

namespace nodepool::simulation {

// What a node with this label takes, in every cloud.
driver::Resources need_of(std::string_view label);

// The machines behind the providers that launch, and what these providers may take at most.
class Clouds {
 public:
  explicit Clouds(Journal& journal) : journal_(journal) {}

  void set_limits(const std::string& provider, driver::Limits limits);
  const driver::Limits& limits(const std::string& provider) const;

  // Whether one more machine fits into what the provider allows.
  bool has_room(const std::string& provider, const driver::Resources& need) const;

  // Images that a builder has uploaded. Returns the new one's id.
  std::string add_image(const std::string& provider);
  void remove_image(const std::string& id) { images_.erase(id); }
  bool has_image(const std::string& id) const { return images_.contains(id); }

  // Harmless if there is no such machine.
  void remove(const std::string& id) { machines_.erase(id); }

  struct Machine {
    std::string provider;
    driver::Resources resources;
    driver::Metadata metadata;
    std::uint64_t era = 0;  // of node ids
  };

  // Makes a machine and returns its id. A second one for the same node is a violation.
  std::string make(Machine machine);

  // From now on the ids of nodes may stand for others than before.
  void forget_nodes() { ++era_; }

  const std::map<std::string, Machine>& machines() const { return machines_; }

 private:
  Journal& journal_;
  std::map<std::string, driver::Limits> limits_;  // by provider
  std::map<std::string, Machine> machines_;       // by id
  std::set<std::string> images_;                  // ids
  std::uint64_t made_ = 0;
  std::uint64_t era_ = 0;
  std::uint64_t uploaded_ = 0;
};

}  // namespace nodepool::simulation
