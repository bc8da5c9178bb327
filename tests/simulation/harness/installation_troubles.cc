// What goes wrong with an installation: mishaps of one process, and disasters that befall all.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coordination/path.h"
#include "model/paths.h"
#include "tests/simulation/harness/chance.h"
#include "tests/simulation/harness/installation.h"

namespace nodepool::simulation {

namespace {

constexpr double kLongestBetweenRestarts = 40;  // seconds

}  // namespace

// --- what goes wrong

void Installation::mishap() {
  async::Random& random = world_.random;
  const std::size_t launcher = random.below(launchers_.size());
  const std::size_t requestor = random.below(requestors_.size());
  LauncherProcess* process = launchers_[launcher].process.get();
  RequestorProcess* zuul = requestors_[requestor].process.get();
  const auto draw = random.below(100);
  if (draw < 9) return reload();
  if (draw < 12) return change_cloud_limits();
  if (draw < 17) return jump_wall_clock();
  if (draw < 75) {
    if (process == nullptr) return;
    if (draw < 42) return kill_launcher(launcher);
    if (draw < 50) return stop_launcher(launcher);
    if (draw < 67) return cut_off(*process);
    world_.journal.count("mishap: launcher's session lost");
    return process->expire();
  }
  if (zuul == nullptr) return;
  if (draw < 85) return kill_requestor(requestor);
  if (draw < 93) return cut_off(*zuul);
  world_.journal.count("mishap: requestor's session lost");
  zuul->expire();
}

void Installation::kill_launcher(std::size_t index) {
  LauncherSlot& slot = launchers_[index];
  const bool unnoticed = chance(world_.random, 0.3);
  note(fmt::format("{} dies{}", slot.process->name(), unnoticed ? " unnoticed" : ""));
  world_.journal.count("mishap: launcher died");
  if (unnoticed) {
    slot.process->abandon();
    later(seconds_between(world_.random, 1, 30),
          [this, session = slot.process->session()] { world_.server.end_session(session); });
  }
  slot.process.reset();
  slot.back_at = world_.clock.now() + seconds_between(world_.random, 0, 90);
  quiet_.clear();
}

void Installation::kill_requestor(std::size_t index) {
  RequestorSlot& slot = requestors_[index];
  note(slot.process->name() + " dies");
  world_.journal.count("mishap: requestor died");
  slot.process.reset();
  slot.back_at = world_.clock.now() + seconds_between(world_.random, 0, 90);
  quiet_.clear();
}

void Installation::stop_launcher(std::size_t index) {
  note(launchers_[index].process->name() + " is stopped");
  world_.journal.count("mishap: launcher restarted in order");
  launchers_[index].process->stop();
  quiet_.clear();
}

// The new one is started before the old one has ended.
void Installation::replace_launcher(std::size_t index) {
  std::unique_ptr<LauncherProcess>& process = launchers_[index].process;
  note(process->name() + " is replaced");
  world_.journal.count("mishap: launcher replaced");
  process->stop();
  leaving_.push_back(std::move(process));
  start_launcher(index);
  quiet_.clear();
}

void Installation::cut_off(Process& process) {
  world_.journal.count("mishap: connection cut");
  process.suspend();
  quiet_.clear();
  const auto find = [this, number = process.number()]() -> Process* {
    const std::vector<Process*> all = processes();
    const auto found = std::ranges::find(all, number, &Process::number);
    return found == all.end() ? nullptr : *found;
  };
  const async::Duration pause = seconds_between(world_.random, 0, 40);
  if (chance(world_.random, 0.4)) {
    later(pause / 2, [find] {
      if (Process* found = find()) found->expire();
    });
  }
  later(pause, [this, find] {
    Process* found = find();
    if (found != nullptr && !store_is_away_) found->resume();
  });
}

void Installation::reload() {
  change_topology(topology_, world_.random);
  world_.journal.count("mishap: configuration changed");
  for (std::size_t i = 0; i < launchers_.size(); ++i) reconfigure(i);
  quiet_.clear();
}

void Installation::change_cloud_limits() {
  for (const auto& [name, provider] : topology_.providers) {
    if (!provider.is_cloud() || chance(world_.random, 0.5)) continue;
    world_.journal.count("mishap: cloud's limits changed");
    clouds_.set_limits(name, draw_cloud_limits(world_.random));
  }
}

void Installation::jump_wall_clock() {
  // The auditors allow for one such set-back.
  constexpr std::int64_t kMostSetBack = 300;
  std::int64_t jump = between(world_.random, -kMostSetBack, 4000);
  jump = std::max(jump, -kMostSetBack + set_back_);
  set_back_ = std::max<std::int64_t>(0, set_back_ - jump);
  note(fmt::format("the wall clock jumps by {} s", jump));
  world_.journal.count("mishap: wall clock jumped");
  holds_.forget_expired();
  world_.clock.shift_wall_clock(static_cast<double>(jump));
}

// --- disasters

// All that has begun by the time of calm_down() is over then.
void Installation::befall(const Disaster& disaster) {
  quiet_.clear();
  switch (disaster.kind) {
    case Disaster::Kind::store_away:
      if (!std::exchange(store_is_away_, true)) store_goes_away(disaster);
      break;
    case Disaster::Kind::cloud_away:
      note("no cloud answers");
      world_.journal.count("disaster: no cloud answers");
      hardware_->cloud_is_away = true;
      later(disaster.lasts, [this] {
        note("the clouds answer again");
        hardware_->cloud_is_away = false;
      });
      break;
    case Disaster::Kind::credentials_expired:
      note("the clouds accept no credentials");
      world_.journal.count("disaster: credentials expired");
      hardware_->faults.refuses_credentials = true;
      later(disaster.lasts, [this] {
        note("there are new credentials");
        hardware_->faults.refuses_credentials = false;
      });
      break;
    case Disaster::Kind::reload:
      reload_another_section(disaster);
      break;
    case Disaster::Kind::top_level:
      reload_top_level(disaster);
      break;
    case Disaster::Kind::backing_node_lost:
      lose_backing_node(disaster);
      break;
    case Disaster::Kind::disk_full:
      fill_disk(disaster);
      break;
    case Disaster::Kind::rolling_restart:
      restart_one_by_one(disaster);
      break;
    case Disaster::Kind::emptied:
      note("the store is emptied");
      world_.journal.count("disaster: the store is emptied");
      replace_store(Backup());
      break;
    case Disaster::Kind::restored: {
      const Backup backup = disaster.backup_is_lost ? Backup() : Backup::take(world_);
      later(disaster.lasts, [this, backup] {
        note("the store is lost, and another one takes its place");
        world_.journal.count("disaster: the store is replaced");
        kill_all();
        world_.server.renumber_for_tests();
        replace_store(backup);
      });
    }
  }
}

// Who asks for nodes, and believed to have some, begins anew.
void Installation::replace_store(const Backup& backup) {
  for (std::size_t i = 0; i < requestors_.size(); ++i) {
    if (requestors_[i].process) kill_requestor(i);
  }
  holds_.forget_all();
  backup.restore(world_);
  if (foreigner_) start_foreigner(world_.random.next());
  custody_.store_was_replaced();
  quiet_.clear();
}

void Installation::kill_all() {
  for (LauncherSlot& slot : launchers_) {
    if (!slot.process) continue;
    slot.process.reset();
    slot.back_at = world_.clock.now() + seconds_between(world_.random, 0, 60);
  }
  leaving_.clear();
  if (builder_) start_builder(world_.random.next());
}

void Installation::store_goes_away(const Disaster& disaster) {
  note("the store goes away");
  world_.journal.count("disaster: the store is away");
  for (Process* process : processes()) process->suspend();
  later(disaster.lasts, [this, sessions_are_lost = disaster.sessions_are_lost] {
    note("the store is back");
    store_is_away_ = false;
    for (Process* process : processes()) {
      if (sessions_are_lost) process->expire();
      process->resume();
    }
    quiet_.clear();
  });
}

// As somebody does who removes the lock: a node that is in use, and locked by nobody, is taken
// back.
void Installation::lose_backing_node(const Disaster& disaster) {
  std::vector<std::string> nodes;
  for (const auto& [id, node] : auditor_.nodes()) {
    if (backing_record(node)) nodes.push_back(id);
  }
  if (nodes.empty()) return;
  async::Random random(disaster.seed);
  const std::string id = pick(random, nodes);
  note(fmt::format("backing node {} is unlocked", id));
  world_.journal.count("disaster: backing node lost");
  const std::int64_t session =
      world_.server.open_session([](const std::vector<coordination::WatchEvent>&) {});
  coordination::Transaction transaction;
  const std::string root = model::node_lock_path(id);
  for (const std::string& name : world_.server.tree().children(root)) {
    transaction.remove(coordination::join_path(root, name));
  }
  const auto now = static_cast<std::int64_t>(world_.clock.wall_seconds() * 1000);
  world_.server.commit(session, transaction, now);
  world_.server.end_session(session);
}

void Installation::fill_disk(const Disaster& disaster) {
  async::Random random(disaster.seed);
  const bool has_store = chance(random, 0.6);
  const bool has_logs = !has_store || chance(random, 0.6);
  note(fmt::format("the disk is full:{}{}", has_store ? " store" : "", has_logs ? " logs" : ""));
  if (has_store) world_.journal.count("disaster: the store is full");
  if (has_logs) world_.journal.count("disaster: logs and history are full");
  if (has_store) world_.store_is_full = true;
  if (has_logs) world_.disk_is_full = true;
  later(disaster.lasts, [this, has_store, has_logs] {
    note("the disk has room");
    if (has_store) world_.store_is_full = false;
    if (has_logs) world_.disk_is_full = false;
    quiet_.clear();
  });
}

// As a rolling restart of all launchers does.
void Installation::restart_one_by_one(const Disaster& disaster) {
  world_.journal.count("disaster: launchers restarted one by one");
  async::Random random(disaster.seed);
  const bool overlaps = chance(random, 0.5);
  async::Duration pause{};
  for (std::size_t i = 0; i < launchers_.size(); ++i) {
    later(pause, [this, i, overlaps] {
      if (!launchers_[i].process) return;
      if (overlaps) {
        replace_launcher(i);
      } else {
        stop_launcher(i);
      }
    });
    pause += seconds_between(random, 0, kLongestBetweenRestarts);
  }
}

void Installation::reload_another_section(const Disaster& disaster) {
  world_.journal.count("disaster: another section reloaded");
  async::Random random(disaster.seed);
  change_another_section(topology_, random);
  for (std::size_t i = 0; i < launchers_.size(); ++i) reconfigure(i);
  later(disaster.lasts, [this] {
    if (calm_) return;  // which sees to that
    settle_sections(topology_);
    for (std::size_t i = 0; i < launchers_.size(); ++i) reconfigure(i);
    quiet_.clear();
  });
}

void Installation::reload_top_level(const Disaster& disaster) {
  world_.journal.count("disaster: top level reloaded");
  async::Random random(disaster.seed);
  change_top_level(topology_, random);
  for (std::size_t i = 0; i < launchers_.size(); ++i) reconfigure(i);
}

}  // namespace nodepool::simulation
