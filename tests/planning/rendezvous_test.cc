#include "planning/rendezvous.h"

#include <gtest/gtest.h>

#include <string>

namespace nodepool::planning {
namespace {

// Test vectors of draft-eastlake-fnv, appendix C.
TEST(RendezvousTest, fnv1a_is_as_specified) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
}

// Computed independently. All builds must agree.
TEST(RendezvousTest, weights_never_change) {
  EXPECT_EQ(rendezvous_weight("", ""), 0xb9034ad37056f5fbU);
  EXPECT_EQ(rendezvous_weight("pool", "200-0000000001"), 0xe9d0e7a654c7dcc5U);
  EXPECT_EQ(rendezvous_weight("pool", "200-0000000002"), 0x07ac80d3a3faf5e3U);
  EXPECT_EQ(rendezvous_weight("h-PoolWorker.rack-main-0123", "300-0000012345"),
            0xad6475d9b297ff74U);
  EXPECT_EQ(rendezvous_weight("zürich", "x"), 0x39e1d27a20ea6049U);
}

TEST(RendezvousTest, where_the_candidate_ends_matters) {
  EXPECT_NE(rendezvous_weight("ab", "c"), rendezvous_weight("a", "bc"));
}

// Consecutive request ids differ in their last digits only.
TEST(RendezvousTest, neighbours_are_spread_evenly) {
  int first = 0;
  int changes = 0;
  bool last = false;
  for (int i = 0; i < 1000; ++i) {
    const std::string subject = "200-" + std::to_string(1000000000 + i);
    const bool is_first = rendezvous_weight("one", subject) > rendezvous_weight("two", subject);
    first += is_first ? 1 : 0;
    changes += is_first != last ? 1 : 0;
    last = is_first;
  }
  EXPECT_NEAR(first, 500, 60);
  EXPECT_NEAR(changes, 500, 60);
}

}  // namespace
}  // namespace nodepool::planning
