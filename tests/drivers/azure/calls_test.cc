// How many calls nodes take in Azure.

#include "tests/drivers/azure/azure_fixture.h"

namespace nodepool::drivers::contract {
namespace {

using model::Node;
using testing::IsEmpty;

// With the default rate, of one call a second.
class PacedFixture final : public AzureFixture {
 public:
  explicit PacedFixture(harness::Installation& installation) : AzureFixture(installation) {
    rate = 1;
  }
};

}  // namespace

class AzureCalls : public AzureContract {};

INSTANTIATE_TEST_SUITE_P(azure, AzureCalls, testing::Values(backend<AzureFixture>()));

TEST_P(AzureCalls, one_call_makes_all_parts_and_one_deletes_them) {
  const Node node = launch_new();
  EXPECT_EQ(count_of_all(), 5U);
  reclaim(node.id);
  process_->pass(std::chrono::seconds(10));
  EXPECT_EQ(count_of_all(), 0U);
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 1U);
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 1U);
  EXPECT_EQ(azure().count("GET virtualMachines/NAME"), 0U);
  EXPECT_EQ(azure().count("GET networkInterfaces"), 1U);
  EXPECT_EQ(azure().count("GET publicIPAddresses"), 1U);
}

class AzureBurst : public AzureContract {};

INSTANTIATE_TEST_SUITE_P(azure, AzureBurst, testing::Values(backend<PacedFixture>()));

// Each machine is gone before a list can show that it is being deleted.
TEST_P(AzureBurst, one_list_serves_all_launches_and_one_all_deletions) {
  azure().operation_time = std::chrono::milliseconds(500);
  reclaim_together(launch_together(20));
  EXPECT_THAT(machine_ids(), IsEmpty());
  EXPECT_EQ(azure().count("PUT virtualMachines/NAME"), 20U);
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 20U);
  EXPECT_EQ(azure().count("GET virtualMachines/NAME"), 20U);
  EXPECT_EQ(azure().count("GET virtualMachines"), 2U);
  EXPECT_EQ(azure().count("GET networkInterfaces"), 1U);
  EXPECT_EQ(azure().count("GET publicIPAddresses"), 1U);
}

// A list gets its turn after 50 deletions, when the first machines are gone.
TEST_P(AzureBurst, a_deletion_that_a_list_shows_takes_no_call_of_its_own) {
  azure().operation_time = std::chrono::milliseconds(500);
  const std::vector<std::string> ids = launch_together(60);
  azure().operation_time = std::chrono::seconds(40);
  reclaim_together(ids);
  EXPECT_EQ(azure().count("DELETE virtualMachines/NAME"), 60U);
  EXPECT_LT(azure().count("GET virtualMachines/NAME"), 20U);
}

TEST_P(AzureBurst, waits_for_turns_do_not_delay_later_deletions) {
  azure().operation_time = std::chrono::milliseconds(500);
  reclaim_together(launch_together(20));
  const Node node = launch_new();
  const auto begun = installation_.clock.now();
  reclaim(node.id);
  EXPECT_LT(installation_.clock.now() - begun, std::chrono::seconds(6));
}

}  // namespace nodepool::drivers::contract
