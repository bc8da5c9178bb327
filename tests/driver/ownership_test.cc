#include "driver/ownership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nodepool::driver {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;
using Maker = Ownership::Maker;

Metadata marks(std::string node, std::string installation, std::string provider = "cloud") {
  Metadata metadata{{std::string(kNodeIdKey), std::move(node)},
                    {std::string(kProviderNameKey), std::move(provider)}};
  if (!installation.empty()) metadata.emplace(kInstallationIdKey, std::move(installation));
  return metadata;
}

Ownership ownership_from(std::int64_t first_node) {
  return {std::make_shared<const model::Installation>("here", first_node), "cloud"};
}

TEST(Ownership, what_is_made_carries_the_installation_s_id) {
  const Ownership ownership = ownership_from(0);
  const Metadata metadata = ownership.of_node("0000000000", "main");
  EXPECT_THAT(metadata, Contains(Pair("nodepool_installation_id", "here")));
  EXPECT_THAT(metadata, Contains(Pair("nodepool_pool_name", "main")));
  EXPECT_EQ(ownership.maker_of(metadata), Maker::this_installation);
  EXPECT_TRUE(ownership.is_of_node(metadata, "0000000000"));
  EXPECT_FALSE(ownership.is_of_node(metadata, "0000000001"));
}

TEST(Ownership, another_installation_s_node_of_the_same_id_is_not_ours) {
  const Ownership ownership = ownership_from(0);
  for (const std::string installation : {"", "there"}) {
    const Metadata metadata = marks("0000000007", installation);
    EXPECT_FALSE(ownership.is_of_node(metadata, "0000000007"));
    EXPECT_FALSE(ownership.may_be_of_node(metadata, "0000000007"));
  }
  EXPECT_EQ(ownership.maker_of(marks("0000000007", "")), Maker::unknown);
  EXPECT_EQ(ownership.maker_of(marks("0000000007", "there")), Maker::other_installation);
  EXPECT_EQ(ownership.maker_of(marks("0000000007", "here", "other")), Maker::other_provider);
}

TEST(Ownership, nodes_from_before_the_installation_had_an_id_carry_none) {
  const Ownership ownership = ownership_from(8);
  EXPECT_THAT(ownership.of_node("0000000007", "main"), Not(Contains(Key(kInstallationIdKey))));
  EXPECT_THAT(ownership.of_node("0000000008", "main"), Contains(Key(kInstallationIdKey)));
  EXPECT_TRUE(ownership.is_of_node(marks("0000000007", ""), "0000000007"));
  EXPECT_FALSE(ownership.is_of_node(marks("0000000007", "there"), "0000000007"));
  EXPECT_FALSE(ownership.is_of_node(marks("0000000008", ""), "0000000008"));
  EXPECT_TRUE(ownership.may_be_of_node(marks("0000000008", ""), "0000000008"))
      << "a Python launcher beside this one has made it";
}

}  // namespace
}  // namespace nodepool::driver
