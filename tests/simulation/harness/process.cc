#include "tests/simulation/harness/process.h"

#include <utility>

namespace nodepool::simulation {

namespace {

// More continuations in a row than any work takes: a task goes round in circles.
constexpr std::size_t kMostAtOnce = 100'000;

// Each loss makes for more operations, at which sessions are lost: some time has to pass between.
constexpr auto kLeastLifeOfSession = std::chrono::seconds(10);

}  // namespace

Process::Process(World& world, async::Random& seeds, std::string name, coordination::FaultPlan plan)
    : world_(world),
      name_(std::move(name)),
      number_(world.processes_started++),
      random_(seeds.next()),
      runtime_{loop_.executor(), world.clock, random_},
      session_(world.server, runtime_),
      store_(session_, runtime_, with_session(std::move(plan)), seeds.next()) {}

Process::~Process() {
  const coordination::FaultCounts& counts = store_.counts();
  Journal& journal = world_.journal;
  journal.count("fault: disconnected", counts.disconnected);
  journal.count("fault: lost request", counts.lost_request);
  journal.count("fault: lost answer", counts.lost_answer);
  journal.count("fault: session lost at an operation", counts.lost_session);
  journal.count("fault: store full", counts.full);
  journal.count("fault: extra resync", counts.extra_resync);
  journal.count("fault: event lost, resync instead", counts.lost_event);
  journal.count("fault: delay", counts.delay);
}

coordination::FaultPlan Process::with_session(coordination::FaultPlan plan) {
  plan.lose_session = [this] {
    if (session_lost_at_ && world_.clock.now() < *session_lost_at_ + kLeastLifeOfSession) return;
    session_lost_at_ = world_.clock.now();
    session_.expire_for_tests();
  };
  plan.is_full = [this] { return world_.store_is_full; };
  return plan;
}

bool Process::poll() {
  world_.actor = this;
  const std::size_t ran = loop_.poll(kMostAtOnce);
  world_.actor = nullptr;
  if (ran == kMostAtOnce) throw Stuck(name_ + " runs on and on without time passing");
  if (ran > 0) ++turns_;
  return ran > 0;
}

void Process::suspend() {
  note("connection lost");
  session_.suspend_for_tests();
}

void Process::resume() {
  note("connection restored");
  session_.resume_for_tests();
}

void Process::expire() {
  note("session lost");
  session_.expire_for_tests();
}

void Process::abandon() {
  session_.abandon_for_tests();
}

void Process::set_faults(coordination::FaultPlan plan) {
  store_.set_plan(with_session(std::move(plan)));
}

}  // namespace nodepool::simulation
