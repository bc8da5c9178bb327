#pragma once

#include <set>
#include <string>

#include "tests/simulation/harness/auditor.h"
#include "tests/simulation/harness/cloud.h"
#include "tests/simulation/harness/process.h"

namespace nodepool::simulation {

// Whose the machines are that the store does not know: those of before it was replaced, and those
// of strangers, whose providers have the same names. Reports whoever touches them without the
// right.
class Custody {
 public:
  Custody(World& world, Clouds& clouds, const Auditor& auditor);
  ~Custody();
  Custody(const Custody&) = delete;
  Custody& operator=(const Custody&) = delete;

  // Machines that others have made for nodes that they gave the same ids.
  void add_strangers(const std::string& provider);

  // The store is not what it was: from now on what it does not know is lost.
  void store_was_replaced();

  // The process that runs now is about to delete this machine.
  void check_removal(const std::string& machine);

  // Whether the record was brought back without its machine.
  bool is_without_machine(const std::string& node) const { return without_machine_.contains(node); }

  bool is_lost(const std::string& machine) const { return lost_.contains(machine); }
  bool is_strange(const std::string& machine) const { return strange_.contains(machine); }

  // Whether it ever was replaced.
  bool was_replaced() const { return replaced_at_ != async::Clock::TimePoint(); }

  // Machines that are there, and that only somebody who knows better may delete.
  std::set<std::string> lost() const;
  void strangers_are_there() const;

 private:
  void committed(const std::vector<coordination::WatchEvent>& events) const;
  // No launcher deletes the machine of a node that is not to go.
  void check_use(const std::string& machine) const;
  std::string installation() const;
  bool is_own(const std::string& machine) const;
  bool is_cleaned_up(const std::string& machine) const;

  World& world_;
  Clouds& clouds_;
  const Auditor& auditor_;
  std::int64_t session_;
  async::Clock::TimePoint replaced_at_{};
  std::set<std::string> lost_;
  std::set<std::string> strange_;
  std::set<std::string> marked_;      // those of them that carry the id of their installation
  std::set<std::string> cleaned_up_;  // … and whom a launcher has deleted, rightly
  std::set<std::string> without_machine_;
};

}  // namespace nodepool::simulation
