// Listings of pods by project, in virtual time, over HTTP on the loopback.

#include "drivers/openshift/projects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/live_tasks.h"
#include "async/task_scope.h"
#include "driver/cloud_error.h"
#include "tests/drivers/kubernetes/stand_in/stand_in.h"

namespace nodepool::drivers::openshift {
namespace {

using async::Task;
using kubernetes::PodList;
using testing::HasSubstr;
using testing::SizeIs;

class ProjectsTest : public testing::Test {
 protected:
  ~ProjectsTest() override {
    loop_.run(account_.stop());
    loop_.run(cluster_.stop());
  }

  // Adds a project with a pod.
  void add_project(const std::string& name) {
    awaited_.insert(name);
    cluster_.add("namespaces/" + name + "/pods/small", {{"status", {{"phase", "Running"}}}});
  }

  // The pods of all projects; nothing if failure_ says why.
  std::optional<PodList> pods() {
    std::optional<PodList> found;
    scope_.spawn("list", list(found));
    while (!scope_.empty()) {
      if (is_silent()) clock_.advance_to(clock_.next_wakeup());
    }
    return found;
  }

  // The number of times that an error of the project was logged.
  std::ptrdiff_t reports_of(const std::string& project) const {
    const std::string start = "Error listing the pods of project " + project + ": ";
    return std::ranges::count_if(
        logged_, [&start](const std::string& line) { return line.starts_with(start); });
  }

  std::string failure_;

 private:
  static kubernetes::Cluster cluster_at(std::string url) {
    kubernetes::Cluster cluster;
    cluster.server = std::move(url);
    return cluster;
  }

  Task<> list(std::optional<PodList>& found) {
    try {
      found.emplace(co_await projects_.pods(awaited_));
    } catch (const driver::CloudError& error) {
      failure_ = error.what();
    }
  }

  bool is_silent() {
    const auto tasks = async::live_tasks(runtime_.executor);
    const bool waits = std::ranges::any_of(tasks, [](const async::LiveTask& task) {
      return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
        return wait.what.starts_with("http:");
      });
    });
    return !loop_.poll() && !waits;
  }

  std::set<std::string> awaited_;
  std::vector<std::string> logged_;

 protected:
  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool threads_{1, "test"};
  telemetry::Logger log_{
      telemetry::Log::to_consumer([this](telemetry::LogLevel, std::string_view,
                                         std::string_view line) { logged_.emplace_back(line); }),
      "test"};
  kubernetes::StandIn cluster_{runtime_};
  kubernetes::ClusterAccount account_{runtime_, cluster_at(cluster_.url()), threads_, log_};
  KubeApi api_{runtime_, account_, log_, {}};
  Projects projects_{runtime_, log_, api_};
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(ProjectsTest, the_pods_of_projects_are_listed_concurrently) {
  for (const char* name : {"a", "b", "c", "d"}) add_project(name);
  // The first attempts for all: one project after the other, these were all attempts for the first.
  cluster_.fail("LIST pods", {503, 503, 503, 503});
  const auto found = pods();
  ASSERT_TRUE(found) << failure_;
  EXPECT_THAT(found->all(), SizeIs(4));
}

TEST_F(ProjectsTest, the_pods_of_a_project_that_cannot_be_listed_are_unknown) {
  for (const char* name : {"a", "b"}) add_project(name);
  cluster_.fail("LIST pods", {400});
  const auto found = pods();
  ASSERT_TRUE(found) << failure_;
  ASSERT_THAT(found->all(), SizeIs(1));
  const bool has_a = found->all().front().space == "a";
  EXPECT_EQ(found->is_unread("a"), !has_a);
  EXPECT_EQ(found->is_unread("b"), has_a);
}

TEST_F(ProjectsTest, a_project_that_fails_beside_others_is_reported_once_and_polled_less_often) {
  for (const char* name : {"a", "b"}) add_project(name);
  const std::string broken = "namespaces/a/pods/broken";
  const auto poll = [this](int times) {
    for (int i = 0; i < times; ++i) {
      const auto found = pods();
      ASSERT_TRUE(found) << failure_;
      EXPECT_TRUE(found->is_unread("a"));
      EXPECT_FALSE(found->is_unread("b"));
      clock_.advance_by(std::chrono::seconds(1));
    }
  };
  cluster_.add(broken, {{"status", "not an object"}});
  poll(60);
  EXPECT_EQ(cluster_.count("LIST pods"), 60 + 5) << "project a after 0, 2, 6, 14 and 30 s";
  EXPECT_EQ(reports_of("a"), 1);
  cluster_.erase(broken);
  const auto found = pods();
  ASSERT_TRUE(found) << failure_;
  EXPECT_FALSE(found->is_unread("a")) << "due after 60 s";
  cluster_.add(broken, {{"status", "not an object"}});
  poll(1);
  EXPECT_EQ(reports_of("a"), 2) << "another failure";
}

TEST_F(ProjectsTest, a_listing_fails_if_no_project_can_be_listed) {
  for (const char* name : {"a", "b"}) add_project(name);
  cluster_.fail("LIST pods", {400, 400});
  EXPECT_FALSE(pods());
  EXPECT_THAT(failure_, HasSubstr("HTTP 400"));
}

TEST_F(ProjectsTest, a_project_that_is_gone_has_no_pods) {
  for (const char* name : {"a", "b"}) add_project(name);
  cluster_.forbidden = {"b"};
  const auto found = pods();
  ASSERT_TRUE(found) << failure_;
  EXPECT_THAT(found->all(), SizeIs(1));
  EXPECT_FALSE(found->is_unread("b"));
}

}  // namespace
}  // namespace nodepool::drivers::openshift
