// Tests the calls of operators: nodes of others, images.

#include <gmock/gmock.h>

#include "coordination/tree.h"
#include "model/image_paths.h"
#include "model/paths.h"
#include "tests/api/api_test.h"

namespace nodepool::api {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr auto kNode = "0000000077";
const std::string kNodePath = std::string("/api/v1/nodes/") + kNode;

class OperatorTest : public ApiTest {
 protected:
  OperatorTest() {
    first_->configured_images = {{"debian", false}, {"fedora", true}};
    put(model::node_path(kNode), R"({"state": "ready", "type": ["small"], "provider": "cloud"})");
  }

  void put(const std::string& path, const std::string& data = {}) {
    run(coordination::ensure_path(first_->store(), path));
    run(first_->store().set(path, data, coordination::kAnyVersion));
    settle();
  }
  bool exists(const std::string& path) { return run(first_->store().exists(path)).has_value(); }

  unsigned status(const std::string& method, const std::string& path,
                  const std::string& client = "boss") {
    const unsigned status = call(method, path, client).status;
    settle();
    return status;
  }
};

TEST_F(OperatorTest, a_free_node_is_held_with_a_reason) {
  const Got held = call("POST", kNodePath + "/hold", "boss", {{"reason", "strange clock"}});
  EXPECT_EQ(held.status, 204) << held.text;
  EXPECT_EQ(node(kNode).state, model::NodeState::hold);
  EXPECT_EQ(node(kNode).comment, "strange clock");
  EXPECT_FALSE(exists(model::node_lock_path(kNode) + "/any"));
  EXPECT_THAT(audit_, Contains(HasSubstr("boss from 127.0.0.1: POST /api/v1/nodes/0000000077/hold: "
                                         "204, held 0000000077")));
  EXPECT_EQ(status("POST", kNodePath + "/hold"), 204U);  // again: no change
  EXPECT_EQ(node(kNode).comment, "strange clock");
  EXPECT_EQ(status("DELETE", kNodePath + "/hold"), 204U);
  EXPECT_EQ(node(kNode).state, model::NodeState::used);
}

TEST_F(OperatorTest, a_leased_node_is_taken_out_of_its_lease_and_held) {
  const Got lease = leased("gitlab", {{"labels", {"small", "small"}}});
  const std::string id = lease.body.at("lease").at("nodes").at(0).at("id");
  EXPECT_EQ(status("POST", "/api/v1/nodes/" + id + "/hold"), 204U);
  EXPECT_EQ(node(id).state, model::NodeState::hold);
  const Got rest = call("GET", "/api/v1/leases/" + lease.id(), "gitlab");
  EXPECT_THAT(rest.body.at("nodes"), testing::SizeIs(1));
}

TEST_F(OperatorTest, a_node_is_deleted) {
  EXPECT_EQ(status("DELETE", kNodePath), 204U);
  EXPECT_EQ(node(kNode).state, model::NodeState::deleting);
  EXPECT_EQ(status("DELETE", kNodePath), 204U);  // again: no change
  EXPECT_EQ(status("DELETE", "/api/v1/nodes/0000009999"), 404U);
}

TEST_F(OperatorTest, a_locked_node_stays_as_it_is) {
  put(model::node_lock_path(kNode) + "/0123__lock__0000000000");
  const Got held = call("POST", kNodePath + "/hold", "boss");
  EXPECT_EQ(held.status, 409);
  EXPECT_THAT(held.body.at("detail"), HasSubstr("Node 0000000077 is locked"));
  EXPECT_EQ(status("DELETE", kNodePath), 409U);
  EXPECT_EQ(node(kNode).state, model::NodeState::ready);
}

TEST_F(OperatorTest, a_leased_node_is_not_deleted) {
  const Got lease = leased("gitlab");
  const std::string id = lease.body.at("lease").at("nodes").at(0).at("id");
  const Got refused = call("DELETE", "/api/v1/nodes/" + id, "boss");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body.at("detail"), HasSubstr("release it from lease " + lease.id()));
  EXPECT_EQ(node(id).state, model::NodeState::in_use);
}

TEST_F(OperatorTest, a_build_of_a_configured_image_is_requested) {
  EXPECT_EQ(status("POST", "/api/v1/images/debian/build"), 204U);
  EXPECT_TRUE(exists(model::build_request_path("debian")));
  EXPECT_THAT(audit_, Contains(HasSubstr("requested a build of debian")));
  EXPECT_EQ(status("POST", "/api/v1/images/debian/build"), 204U);  // again: no change
  EXPECT_EQ(status("POST", "/api/v1/images/fedora/build"), 409U);  // paused by the configuration
  EXPECT_EQ(status("POST", "/api/v1/images/debain/build"), 404U);
  EXPECT_FALSE(exists(model::image_path("debain")));
}

TEST_F(OperatorTest, an_image_is_paused_and_unpaused) {
  EXPECT_EQ(status("POST", "/api/v1/images/debian/pause"), 409U);  // it has no records
  put(model::builds_path("debian"));
  EXPECT_EQ(status("POST", "/api/v1/images/debian/pause"), 204U);
  EXPECT_TRUE(exists(model::image_pause_path("debian")));
  EXPECT_EQ(status("POST", "/api/v1/images/debian/pause"), 204U);
  EXPECT_EQ(status("POST", "/api/v1/images/debian/build"), 409U);
  EXPECT_EQ(status("DELETE", "/api/v1/images/debian/pause"), 204U);
  EXPECT_FALSE(exists(model::image_pause_path("debian")));
  EXPECT_EQ(status("DELETE", "/api/v1/images/debian/pause"), 204U);
  EXPECT_EQ(status("POST", "/api/v1/images/debian/build"), 204U);
}

TEST_F(OperatorTest, only_an_admin_may) {
  token("acme-boss", "scope: admin, tenant: acme");
  write_tokens();
  while (call("GET", "/api/v1/client", "acme-boss").status == 401) pass(std::chrono::seconds(1));
  for (const auto& [method, path] :
       std::map<std::string, std::string>{{"POST", kNodePath + "/hold"}, {"DELETE", kNodePath}}) {
    EXPECT_EQ(status(method, path, ""), 401U) << path;
    EXPECT_EQ(status(method, path, "viewer"), 403U) << path;
    EXPECT_EQ(status(method, path, "gitlab"), 403U) << path;
    EXPECT_EQ(status(method, path, "acme-boss"), 403U) << path;
  }
  for (const std::string method : {"POST", "DELETE"}) {
    EXPECT_EQ(status(method, "/api/v1/images/debian/pause", ""), 401U);
    EXPECT_EQ(status(method, "/api/v1/images/debian/pause", "gitlab"), 403U);
    EXPECT_EQ(status(method, "/api/v1/images/debian/pause", "acme-boss"), 403U);
  }
  EXPECT_EQ(status("POST", "/api/v1/images/debian/build", "gitlab"), 403U);
  EXPECT_EQ(status("POST", "/api/v1/images/debian/build", "acme-boss"), 403U);
  EXPECT_EQ(node(kNode).state, model::NodeState::ready);
  EXPECT_FALSE(exists(model::image_path("debian")));
}

}  // namespace
}  // namespace nodepool::api
