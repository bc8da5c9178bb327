#include "planning/unregistered_pools.h"

#include <gtest/gtest.h>

#include "planning/decision.h"

namespace nodepool::planning {
namespace {

using model::Component;
using model::NodeRequest;

// Provider `sky` with the pools `main` and `spare`.
class UnstartedSky final : public driver::ProviderConfig {
 public:
  explicit UnstartedSky(std::int64_t max_concurrency = -1)
      : ProviderConfig({.name = "sky", .max_concurrency = max_concurrency}) {
    pools_["main"].labels = {"small", "large"};
    pools_["spare"].labels = {"small"};
  }
  void limit(const std::string& pool, std::int64_t max_servers) {
    pools_.at(pool).max_servers = max_servers;
  }
};

NodeRequest request_for(std::vector<std::string> labels) {
  NodeRequest request;
  request.node_types = std::move(labels);
  return request;
}

TEST(UnregisteredPoolsTest,
     a_configured_pool_with_all_labels_is_waited_for_until_it_is_registered) {
  const UnstartedSky sky;
  EXPECT_EQ(unserved_pool_of(sky, request_for({"small", "large"}), {}), "sky-main");
  EXPECT_EQ(unserved_pool_of(sky, request_for({"small", "typo"}), {}), "");
  Component registered;
  registered.provider_name = "sky";
  registered.name = "main";
  EXPECT_EQ(unserved_pool_of(sky, request_for({"small"}), {&registered}), "sky-spare");
  EXPECT_EQ(unserved_pool_of(sky, request_for({"large"}), {&registered}), "");
}

TEST(UnregisteredPoolsTest, a_configured_pool_that_accepts_no_requests_is_not_waited_for) {
  UnstartedSky sky;
  sky.limit("main", 0);
  EXPECT_EQ(unserved_pool_of(sky, request_for({"small"}), {}), "sky-spare");
  EXPECT_EQ(unserved_pool_of(sky, request_for({"large"}), {}), "");
  sky.limit("main", 1);
  EXPECT_EQ(unserved_pool_of(sky, request_for({"large"}), {}), "sky-main");
  EXPECT_EQ(unserved_pool_of(UnstartedSky(/*max_concurrency=*/0), request_for({"small"}), {}), "");
}

TEST(UnregisteredPoolsTest, requests_for_min_ready_do_not_wait_for_configured_pools) {
  NodeRequest request = request_for({"small"});
  request.requestor = kMinReadyRequestor;
  EXPECT_EQ(unserved_pool_of(UnstartedSky(), request, {}), "");
}

}  // namespace
}  // namespace nodepool::planning
