// The ids in the log lines of a request and its nodes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kLoggedSite = R"(
labels: [{name: small}]
providers:
  - name: sky
    driver: fake
    cloud: fake
    cloud-images: [{name: Fake Precise}]
    pools:
      - name: main
        labels: [{name: small, cloud-image: Fake Precise, flavor-name: Fake Flavor}]
)";

class LogIdsTest : public LauncherFixture {
 protected:
  std::vector<std::string> lines_with(const std::string& part) const {
    std::vector<std::string> lines;
    std::ranges::copy_if(log_, std::back_inserter(lines),
                         [&part](const std::string& line) { return line.contains(part); });
    return lines;
  }
};

TEST_F(LogIdsTest, every_log_line_of_a_request_has_its_id_and_event_id) {
  log_level_ = telemetry::LogLevel::debug;
  start(kLoggedSite);
  log_.clear();
  const std::string id = request(
      {"small"}, [](model::NodeRequest& request_spec) { request_spec.event_id = "push-17"; });
  pass(seconds(5));
  ASSERT_EQ(read_request(id).state, model::RequestState::fulfilled);
  const std::string ids = "[e: push-17] [node_request: " + id + "] ";
  EXPECT_GE(lines_with(id).size(), 5U);
  EXPECT_THAT(lines_with(id), Each(HasSubstr(ids)));
  EXPECT_THAT(lines_with("[node: "), Each(HasSubstr(ids)));
  EXPECT_THAT(lines_with("Node is ready"), testing::SizeIs(1));

  // The requestor deletes the request when it has the node. Earlier lines have its event id.
  accept(id);
  log_.clear();
  give_back(nodes(model::NodeState::in_use).front().id);
  pass(seconds(5));
  EXPECT_THAT(lines_with("Deleted node"), testing::SizeIs(1));
  EXPECT_THAT(lines_with("[node: "), Each(HasSubstr("[node_request: " + id + "] [node: ")));
}

TEST_F(LogIdsTest, what_a_pool_does_for_a_request_is_logged_with_the_name_of_the_pool) {
  log_level_ = telemetry::LogLevel::info;
  start(kLoggedSite);
  const std::string id = request({"small"});
  pass(seconds(5));
  ASSERT_EQ(read_request(id).state, model::RequestState::fulfilled);
  request({"huge"});
  pass(seconds(1));
  const auto has_pool = HasSubstr("NodeRequestHandler.sky-main: ");
  EXPECT_THAT(lines_with("Launching node with label small"), ElementsAre(has_pool));
  EXPECT_THAT(lines_with("Fulfilled node request"), ElementsAre(has_pool));
  EXPECT_THAT(lines_with("Declining node request because"), ElementsAre(has_pool));
}

}  // namespace
}  // namespace nodepool::launcher
