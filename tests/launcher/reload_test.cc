// What a reload means for waiting requests.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using model::RequestState;
using std::chrono::seconds;
using testing::IsEmpty;

constexpr auto kReloadLabels = "labels: [{name: small}, {name: large}]\nproviders:\n";

// A static provider with one host.
std::string one_host_provider(const std::string& name, const std::string& pool,
                              const std::string& host, const std::string& label) {
  return fmt::format(
      "  - {{name: {}, driver: static, pools: [{{name: {}, nodes: [{{name: {}, labels: "
      "[{}]}}]}}]}}\n",
      name, pool, host, label);
}

class ReloadTest : public LauncherFixture {
 protected:
  // Its host is in use.
  std::string request_waiting_for(const std::string& label) {
    accept(request({label}));
    return request({label});
  }
};

TEST_F(ReloadTest, requests_wait_for_a_renamed_pool_or_provider) {
  const auto site = [](const std::string& name, const std::string& pool) {
    return kReloadLabels + one_host_provider("rack", "main", "host-a", "small") +
           one_host_provider(name, pool, "host-z", "large");
  };
  start(site("hall", "main"));
  const std::string id = request_waiting_for("large");
  ASSERT_EQ(read_request(id).state, RequestState::requested);
  reconfigure(site("hall", "east"));
  EXPECT_EQ(read_request(id).state, RequestState::requested);
  EXPECT_THAT(children("/nodepool/components/pool"), testing::SizeIs(2));
  reconfigure(site("lobby", "east"));  // its nodes are its own
  pass(seconds(2));
  EXPECT_EQ(read_request(id).state, RequestState::fulfilled);
  EXPECT_THAT(read_request(id).declined_by, IsEmpty()) << "the label was always offered";
}

TEST_F(ReloadTest, requests_wait_for_a_label_that_moves_to_another_pool) {
  std::string removed;
  for (const char* name : {"m1", "m2", "m3", "m4"}) {
    removed += one_host_provider(name, "main", std::string("host-") + name, "small");
  }
  start(kReloadLabels + one_host_provider("hall", "main", "host-z", "large") + removed +
        one_host_provider("rack", "main", "host-a", "small"));
  const std::string id = request_waiting_for("large");
  ASSERT_EQ(read_request(id).state, RequestState::requested);
  reconfigure(kReloadLabels + one_host_provider("hall", "main", "host-a", "small") +
              one_host_provider("rack", "main", "host-z", "large"));
  pass(seconds(2));
  EXPECT_EQ(read_request(id).state, RequestState::fulfilled);
}

}  // namespace
}  // namespace nodepool::launcher
