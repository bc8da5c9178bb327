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

Metadata owner_tags(std::string node, std::string installation, std::string provider = "cloud") {
  Metadata metadata{{std::string(kNodeIdKey), std::move(node)},
                    {std::string(kProviderNameKey), std::move(provider)}};
  if (!installation.empty()) metadata.emplace(kInstallationIdKey, std::move(installation));
  return metadata;
}

model::Node node_of(std::string id, std::optional<double> created = std::nullopt) {
  model::Node node;
  node.id = std::move(id);
  node.pool = "main";
  node.created_time = created;
  return node;
}

Ownership ownership_from(std::int64_t first_node) {
  return {std::make_shared<const model::Installation>("here", first_node), "cloud"};
}

TEST(Ownership, what_is_made_carries_the_installation_s_id) {
  const Ownership ownership = ownership_from(0);
  const Metadata metadata = ownership.of_node(node_of("0000000000"));
  EXPECT_THAT(metadata, Contains(Pair("nodepool_installation_id", "here")));
  EXPECT_THAT(metadata, Contains(Pair("nodepool_pool_name", "main")));
  EXPECT_EQ(ownership.maker_of(metadata), Maker::this_installation);
  EXPECT_TRUE(ownership.is_of_node(metadata, node_of("0000000000")));
  EXPECT_FALSE(ownership.is_of_node(metadata, node_of("0000000001")));
}

TEST(Ownership, a_node_of_another_installation_with_the_same_id_is_foreign) {
  const Ownership ownership = ownership_from(0);
  for (const std::string installation : {"", "there"}) {
    const Metadata metadata = owner_tags("0000000007", installation);
    EXPECT_FALSE(ownership.is_of_node(metadata, node_of("0000000007")));
    EXPECT_FALSE(ownership.may_be_of_node(metadata, node_of("0000000007")));
  }
  EXPECT_EQ(ownership.maker_of(owner_tags("0000000007", "")), Maker::unknown);
  EXPECT_EQ(ownership.maker_of(owner_tags("0000000007", "there")), Maker::other_installation);
  EXPECT_EQ(ownership.maker_of(owner_tags("0000000007", "here", "other")), Maker::other_provider);
}

TEST(Ownership, nodes_from_before_the_installation_had_an_id_carry_none) {
  const Ownership ownership = ownership_from(8);
  EXPECT_THAT(ownership.of_node(node_of("0000000007")), Not(Contains(Key(kInstallationIdKey))));
  EXPECT_THAT(ownership.of_node(node_of("0000000008")), Contains(Key(kInstallationIdKey)));
  EXPECT_TRUE(ownership.is_of_node(owner_tags("0000000007", ""), node_of("0000000007")));
  EXPECT_FALSE(ownership.is_of_node(owner_tags("0000000007", "there"), node_of("0000000007")));
  EXPECT_FALSE(ownership.is_of_node(owner_tags("0000000008", ""), node_of("0000000008")));
  EXPECT_TRUE(ownership.may_be_of_node(owner_tags("0000000008", ""), node_of("0000000008")))
      << "a Python launcher beside this one has made it";
}

TEST(Ownership, resources_of_an_earlier_node_with_the_same_id_are_foreign) {
  const Ownership ownership = ownership_from(0);
  const model::Node node = node_of("0000000007", 1'700'000'000.25);
  const model::Node earlier = node_of("0000000007", 1'690'000'000.25);
  const Metadata metadata = ownership.of_node(earlier);
  EXPECT_THAT(metadata, Contains(Pair("nodepool_node_created", "1690000000.250000")));
  EXPECT_TRUE(ownership.is_of_node(metadata, earlier));
  EXPECT_FALSE(ownership.is_of_node(metadata, node));
  EXPECT_FALSE(carries(metadata, ownership.of_node(node)));
  EXPECT_TRUE(is_of_another_record(metadata, node));
  EXPECT_EQ(ownership.maker_of(metadata), Maker::this_installation);
  EXPECT_FALSE(ownership_from(8).may_be_of_node(metadata, node));
}

TEST(Ownership, tags_without_a_creation_time_match_the_node) {
  const Ownership ownership = ownership_from(0);
  const model::Node node = node_of("0000000007", 1'700'000'000.25);
  const model::Node unknown = node_of("0000000007");
  EXPECT_TRUE(ownership.is_of_node(owner_tags("0000000007", "here"), node));
  EXPECT_TRUE(ownership.is_of_node(ownership.of_node(node), unknown));
  EXPECT_TRUE(carries(ownership.of_node(unknown), ownership.of_node(node)));
}

}  // namespace
}  // namespace nodepool::driver
