#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "async/event_loop.h"
#include "async/random.h"
#include "async/runtime.h"
#include "coordination/faulty/faulty_store.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "tests/simulation/harness/journal.h"

namespace nodepool::simulation {

// What all simulated processes share.
struct World {
  World(std::uint64_t seed, bool keep_log) : random(seed), journal(clock, keep_log) {}

  async::VirtualClock clock;
  async::Random random;  // of the simulation itself; every process has its own
  Journal journal;
  coordination::MemoryServer server;
  const class Process* actor = nullptr;  // that runs now; null: the simulation itself
  std::uint64_t processes_started = 0;
  bool store_is_full = false;
  bool disk_is_full = false;  // of the launchers: for logs and the history
};

// A run that will never end.
class Stuck : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// One simulated process: its own loop, its own session behind a link with faults. Its destruction
// is its sudden death.
class Process {
 public:
  Process(World& world, std::string name, coordination::FaultPlan plan)
      : Process(world, world.random, std::move(name), std::move(plan)) {}
  // The same, for one whose seeds come from elsewhere.
  Process(World& world, async::Random& seeds, std::string name, coordination::FaultPlan plan);
  virtual ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return name_; }
  // Its number among all that were ever started. An address may be that of another process later.
  std::uint64_t number() const { return number_; }
  std::int64_t session() const { return session_.session_id(); }

  // Runs all that can run now; returns whether anything did. Throws Stuck if that has no end.
  bool poll();
  // How often it had something to do when it was asked.
  std::uint64_t turns() const { return turns_; }

  // What happens to its session.
  void suspend();
  void resume();
  void expire();
  // Dies without anybody noticing: the session stays until the server is told.
  void abandon();

  void set_faults(coordination::FaultPlan plan);

 protected:
  void note(std::string_view text) { world_.journal.note(name_, text); }

  World& world_;

 private:
  std::string name_;
  std::uint64_t number_;
  std::uint64_t turns_ = 0;
  std::optional<async::Clock::TimePoint> session_lost_at_;  // at an operation
  async::EventLoop loop_;
  async::Random random_;

 protected:
  async::Runtime runtime_;

 private:
  coordination::FaultPlan with_session(coordination::FaultPlan plan);

  coordination::MemoryStore session_;

 protected:
  coordination::FaultyStore store_;
};

}  // namespace nodepool::simulation
