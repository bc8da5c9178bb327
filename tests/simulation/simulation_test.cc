#include "tests/simulation/harness/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nodepool::simulation {
namespace {

// Replay a failing seed with its event log: bin/simulation --seed N

TEST(SimulationTest, the_same_seed_gives_the_same_run) {
  const Report first = simulate(7);
  const Report second = simulate(7);
  EXPECT_EQ(first.log_hash, second.log_hash);
  EXPECT_EQ(first.counts, second.counts);
  EXPECT_NE(first.log_hash, simulate(8).log_hash);
}

}  // namespace
}  // namespace nodepool::simulation
