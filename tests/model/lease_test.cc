#include "model/lease.h"

#include <gtest/gtest.h>

#include <string>

#include "model/lease_request.h"

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

// The text beside the lease is of a depth that the safe parser refuses.
TEST(LeaseTest, is_absent_where_the_text_exceeds_the_limits_of_records) {
  const std::string deep = R"(, "deep": )" + std::string(100, '[') + std::string(100, ']') + "}";
  Node node;
  node.user_data.text = R"({"nodepool_lease": {"id": "200-1", "expires": 5})" + deep;
  EXPECT_EQ(lease_of(node), std::nullopt);
  node.state = NodeState::hold;
  node.user_data.text = R"({"nodepool_hold": {"owner": "ada", "lease": "200-1"})" + deep;
  EXPECT_EQ(hold_of(node), std::nullopt);
  NodeRequest request;
  request.requestor_data.text =
      R"({"nodepool_lease_request": {"owner": "ada", "lease": 60, "expires": 5})" + deep;
  EXPECT_EQ(lease_request_of(request), std::nullopt);
}

TEST(LeaseTest, needs_no_holder) {
  Node node;
  node.user_data.text = R"({"nodepool_lease": {"id": "200-1", "expires": 5}})";
  EXPECT_EQ(lease_of(node), (Lease{"200-1", 5.0, ""}));
}

}  // namespace
}  // namespace nodepool::model
