#include "report/status.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/image_paths.h"
#include "model/paths.h"
#include "model/records.h"
#include "report/rendering/status_text.h"

namespace nodepool::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StatusTest : public testing::Test {
 protected:
  StatusTest() {
    loop_.run(records_.make_roots(model::Records::all()));
    records_.follow(scope_, model::Records::all());
    loop_.run(records_.until_ready());
  }
  ~StatusTest() override { loop_.run(scope_.stop()); }

  void add(std::string path, std::string text) {
    loop_.run(coordination::ensure_path(store_, std::string(coordination::parent_path(path))));
    loop_.run(
        store_.create(std::move(path), std::move(text), coordination::CreateMode::persistent));
    loop_.poll();
  }

  void add_launcher(const model::Component& launcher, const char* id = "l10000000000") {
    add(coordination::join_path(model::kComponentsRoot, std::string("launcher/") + id),
        to_record(launcher));
  }

  static model::Component well() {
    model::Component launcher;
    launcher.hostname = "l1";
    launcher.state = "running";
    launcher.version = "12.0.0";
    launcher.started = 1'699'999'000;
    launcher.configuration_loaded = 1'699'999'500;
    return launcher;
  }

  Status status() {
    return status_of({.nodes = records_.nodes,
                      .requests = records_.requests,
                      .components = records_.components,
                      .images = records_.images,
                      .hosts = hosts_,
                      .store = {"sqlite", "/db", 4096, store_problem_},
                      .providers = providers_,
                      .diskimages = diskimages_,
                      .now = clock_.wall_seconds(),
                      .wait_limit = 600});
  }

  // The texts of the problems.
  std::vector<std::string> problems() {
    std::vector<std::string> texts;
    const Status now = status();
    for (const Row& row : now.sections.at(0).table.rows()) {
      texts.push_back(std::get<model::Json>(row.at(2)).string_value());
    }
    return texts;
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  telemetry::Logger log_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {},
                                  telemetry::LogLevel::error),
      "test"};
  model::Records records_{runtime_, store_, log_};
  std::vector<model::HostReport> hosts_;
  std::string store_problem_;
  std::set<std::string> providers_;
  std::set<std::string> diskimages_;
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(StatusTest, without_a_launcher_it_is_critical_and_that_comes_first) {
  providers_ = {"sky"};
  model::HostReport host;
  host.provider = "rack";
  host.pool = "main";
  host.host = "h1";
  host.problem = "refused";
  hosts_.push_back(host);
  EXPECT_EQ(status().level, StatusLevel::critical);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("no launcher is running"),
                                      "host h1 of pool rack-main is unhealthy: refused"));
}

TEST_F(StatusTest, the_status_is_fine_when_nothing_needs_attention) {
  add_launcher(well());
  EXPECT_EQ(status().level, StatusLevel::fine);
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(status_as(Format::text, status()),
              testing::AllOf(testing::StartsWith("Nodepool: fine\n\nDaemons\n"),
                             HasSubstr("| launcher | l1   | 12.0.0  | running |")));
  EXPECT_THAT(
      status_as(Format::json, status()),
      testing::AllOf(testing::StartsWith(R"({"status": "fine", "problems": [], "daemons": [)"),
                     HasSubstr(R"("configuration_rejected": false)"),
                     testing::EndsWith("\"waiting\": []}\n")));
  EXPECT_THAT(status_as(Format::yaml, status()),
              testing::StartsWith("status: fine\nproblems: []\ndaemons:\n- kind: \"launcher\"\n"));
}

TEST_F(StatusTest, problems_reported_by_daemons_are_included) {
  model::Component launcher = well();
  launcher.configuration_problem = "nodepool.yaml:3:1: labels: missing";
  launcher.problems = {"provider sky is not in service: no such cloud"};
  add_launcher(launcher);
  providers_ = {"sky"};
  EXPECT_EQ(status().level, StatusLevel::attention);
  EXPECT_THAT(
      problems(),
      ElementsAre("launcher on l1: the configuration file was rejected, the previous one stays "
                  "in effect: "
                  "nodepool.yaml:3:1: labels: missing",
                  "launcher on l1: provider sky is not in service: no such cloud",
                  "provider sky is configured here, but no launcher serves it"));
}

TEST_F(StatusTest, a_problem_that_two_launchers_of_a_host_report_is_listed_once) {
  model::Component launcher = well();
  launcher.configuration_problem = "labels: missing";
  launcher.problems = {"the disk is full"};
  add_launcher(launcher);
  add_launcher(launcher, "l10000000001");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("labels: missing"), HasSubstr("the disk is full")));
  launcher.hostname = "l2";
  launcher.configuration_problem.clear();
  add_launcher(launcher, "l20000000002");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("labels: missing"), HasSubstr("the disk is full"),
                                      "launcher on l2: the disk is full"));
}

TEST_F(StatusTest, nodes_of_a_provider_that_was_removed_are_a_problem) {
  model::Component pool;
  pool.kind = model::Component::Kind::pool;
  pool.provider_name = "served";
  add_launcher(well());
  add(coordination::join_path(model::kComponentsRoot, "pool/l10000000000"), to_record(pool));
  add(model::request_path("200-0000000001"),
      R"({"state": "pending", "state_time": 1, "node_types": ["small"], "requestor": "zuul"})");
  const auto add_node = [this](const char* id, const char* provider, const char* request) {
    add(model::node_path(id), fmt::format(R"({{"state": "building", "state_time": 1, "type": )"
                                          R"(["small"], "provider": "{}", "allocated_to": "{}"}})",
                                          provider, request));
  };
  add_node("0000000001", "served", "200-0000000001");
  EXPECT_THAT(problems(), IsEmpty());
  add_node("0000000002", "gone", "200-0000000001");
  add_node("0000000003", "gone", "200-0000000009");
  EXPECT_THAT(problems(), ElementsAre("provider gone is not configured here and no launcher serves "
                                      "it: 2 node(s) and 1 request(s) of it remain"));
  providers_ = {"gone"};
  EXPECT_THAT(problems(),
              ElementsAre("provider gone is configured here, but no launcher serves it"));
}

TEST_F(StatusTest, a_problem_of_the_store_is_listed_once) {
  store_problem_ = "less than 16 MiB are free";
  model::Component launcher = well();
  add_launcher(launcher);
  EXPECT_THAT(problems(), ElementsAre("less than 16 MiB are free"));
  launcher.problems = {"less than 16 MiB are free"};
  add(coordination::join_path(model::kComponentsRoot, "launcher/l20000000001"),
      to_record(launcher));
  EXPECT_THAT(problems(), ElementsAre("launcher on l1: less than 16 MiB are free"));
}

TEST_F(StatusTest, a_daemon_whose_start_is_unknown_reports_its_problems) {
  model::Component launcher = well();
  launcher.started = 0;
  launcher.configuration_problem = "labels: missing";
  launcher.problems = {"the disk is full"};
  add_launcher(launcher);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("labels: missing"), HasSubstr("the disk is full")));
  EXPECT_THAT(status_as(Format::json, status()),
              testing::AllOf(HasSubstr(R"("started": null, "configuration_loaded": 1699999500)"),
                             HasSubstr(R"("configuration_rejected": true)")));
}

TEST_F(StatusTest, a_python_launcher_reports_less) {
  model::Component launcher;
  launcher.hostname = "old";
  launcher.state = "running";
  launcher.version = "11.0.0";
  add_launcher(launcher);
  EXPECT_EQ(status().level, StatusLevel::fine);
  EXPECT_THAT(status_as(Format::json, status()),
              HasSubstr(R"("started": null, "configuration_loaded": null, )"
                        R"("configuration_rejected": null)"));
}

TEST_F(StatusTest, a_provider_that_launchers_of_both_kinds_serve_needs_attention) {
  add_launcher(well());
  const auto add_pool = [this](const char* host, const char* provider, const char* version) {
    model::Component pool;
    pool.kind = model::Component::Kind::pool;
    pool.hostname = host;
    pool.provider_name = provider;
    pool.version = version;
    add(fmt::format("{}/pool/{}{}", model::kComponentsRoot, host, provider), to_record(pool));
  };
  add_pool("pylauncher", "vexxhost", "11.0.0");
  add_pool("pylauncher", "old", "11.0.0");
  add_pool("l1", "rack", "12.0.0");
  add_pool("odd", "vexxhost", "");
  EXPECT_THAT(problems(), IsEmpty());
  add_pool("l1", "vexxhost", "12.0.0");
  EXPECT_THAT(problems(), ElementsAre(testing::StartsWith("provider vexxhost is also served by "
                                                          "pylauncher (version 11.0.0): ")));
}

TEST_F(StatusTest, images_need_attention_when_the_last_build_or_upload_failed) {
  add_launcher(well());
  diskimages_ = {"new", "broken", "good"};
  const auto build = [this](const char* image, const char* id, const char* text) {
    add(model::build_path(image, id), text);
  };
  build("broken", "b1", R"({"state": "ready", "state_time": 1})");
  build("broken", "b2", R"({"state": "failed", "state_time": 2, "failure": "the disk is full"})");
  build("good", "g1", R"({"state": "failed", "state_time": 1})");
  build("good", "g2", R"({"state": "ready", "state_time": 2})");
  add(model::upload_path("good", "g2", "sky", "0000000001"),
      R"({"state": "failed", "state_time": 5, "failure": "quota"})");
  add(model::upload_path("good", "g2", "land", "0000000001"),
      R"({"state": "failed", "state_time": 5})");
  add(model::upload_path("good", "g2", "land", "0000000002"),
      R"({"state": "ready", "state_time": 6})");
  EXPECT_THAT(problems(),
              ElementsAre("no builder is running: images are neither built nor uploaded",
                          "the last build of image broken (b2) failed: the disk is full",
                          "image new has no ready build",
                          "the last upload of image good to sky failed: quota"));
}

TEST_F(StatusTest, a_request_may_wait_for_a_while) {
  add_launcher(well());
  add(model::request_path("200-0000000001"),
      R"({"state": "requested", "state_time": 1, "node_types": ["small"], "requestor": "zuul"})");
  add(model::request_path("200-0000000002"),
      R"({"state": "fulfilled", "state_time": 1, "node_types": ["small"], "requestor": "zuul"})");
  EXPECT_THAT(problems(), IsEmpty());
  clock_.advance_by(std::chrono::seconds(601));
  EXPECT_THAT(problems(),
              ElementsAre("request 200-0000000001 for small has been waiting for 10 min: "
                          "see `nodepool explain 200-0000000001`"));
  EXPECT_THAT(status_as(Format::text, status()), HasSubstr("| 200-0000000001 | requested | small"));
  clock_.advance_by(std::chrono::hours(2));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr(" has been waiting for 2 h 10 min: ")));
}

}  // namespace
}  // namespace nodepool::report
