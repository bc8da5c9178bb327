#include "model/lease.h"

#include <gtest/gtest.h>

namespace nodepool::model {
namespace {

TEST(LeaseTest, is_written_to_and_read_from_the_nodes_user_data) {
  const Lease lease{"200-0000000007", 1700003600.5, "nodepool:ada@host"};
  Node node;
  node.user_data = lease_user_data(lease);
  EXPECT_EQ(node.user_data.text,
            R"({"nodepool_lease": {"id": "200-0000000007", "expires": 1700003600.5, )"
            R"("holder": "nodepool:ada@host"}})");
  EXPECT_EQ(lease_of(node), lease);
}

TEST(LeaseTest, survives_the_nodes_record) {
  const Lease lease{"200-0000000007", 1700003600.25, "\"quoted\""};
  Node node;
  node.user_data = lease_user_data(lease);
  coordination::Entry entry;
  entry.data = to_record(node);
  EXPECT_EQ(lease_of(parse_node("0000000001", entry)), lease);
}

TEST(LeaseTest, is_absent_where_user_data_belongs_to_others) {
  for (const char* text :
       {"null", "7", "[]", "{}", R"("nodepool_lease")", R"({"nodepool_lease": null})",
        R"({"zuul_system": "a", "project_name": "b"})", R"({"nodepool_lease": {"id": 7}})",
        R"({"nodepool_lease": {"id": "200-1"}})",
        R"({"nodepool_lease": {"id": "200-1", "expires": "soon"}})"}) {
    Node node;
    node.user_data.text = text;
    EXPECT_EQ(lease_of(node), std::nullopt) << text;
  }
}

TEST(LeaseTest, needs_no_holder) {
  Node node;
  node.user_data.text = R"({"nodepool_lease": {"id": "200-1", "expires": 5}})";
  EXPECT_EQ(lease_of(node), (Lease{"200-1", 5.0, ""}));
}

}  // namespace
}  // namespace nodepool::model
