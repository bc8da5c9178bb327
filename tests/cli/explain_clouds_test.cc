// What `explain` says of providers that make machines.

#include <gmock/gmock.h>

#include "coordination/lock.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/boot_record.h"
#include "model/component.h"
#include "model/image_paths.h"
#include "model/image_upload.h"
#include "model/paths.h"
#include "tests/cli/cli_test.h"

namespace nodepool::cli {
namespace {

using model::Node;
using model::NodeState;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class ExplainCloudsTest : public CliTest {
 protected:
  ExplainCloudsTest() {
    config_ = "store: sqlite://" + (directory_.path() / "nodepool.db").string() + R"(
labels: [{name: small}, {name: built}, {name: lost}]
diskimages: [{name: trixie}]
providers:
  - name: north
    driver: fake
    cloud: sky
    max-concurrency: 5
    diskimages: [{name: trixie}]
    cloud-images: [{name: Fake Precise}, {name: Nowhere}]
    fake-cloud: {limits: {instances: 10, cores: 20, ram: -1, volumes: -1, volume-gb: -1}}
    pools:
      - name: main
        max-servers: 4
        labels:
          - {name: small, cloud-image: Fake Precise, min-ram: 8000}
          - {name: built, diskimage: trixie, min-ram: 8000}
          - {name: lost, cloud-image: Nowhere, min-ram: 8000}
)";
    run(coordination::ensure_path(store_, "/nodepool/components/pool"));
    run(coordination::ensure_path(store_, "/nodepool/requests"));
    launcher_.react(requestor::LauncherDouble::Reaction::ignore);
    model::Component pool;
    pool.kind = model::Component::Kind::pool;
    pool.hostname = "l1";
    pool.id = "l1-PoolWorker.north-main-" + std::string(32, 'a');
    pool.name = "main";
    pool.provider_name = "north";
    pool.supported_labels = {"small", "built", "lost"};
    run(store_.create("/nodepool/components/pool/l1", to_record(pool),
                      coordination::CreateMode::ephemeral_sequential));
  }

  std::string add_request(std::vector<std::string> labels) {
    model::NodeRequest request;
    request.node_types = std::move(labels);
    request.set_state(model::RequestState::requested, clock_.wall_seconds());
    return std::string(coordination::base_name(
        run(store_.create(model::request_path("200-"), to_record(request),
                          coordination::CreateMode::persistent_sequential))));
  }

  std::string add_node(NodeState state, const std::string& resources,
                       const std::string& journal = {}) {
    Node node;
    node.set_state(state, clock_.wall_seconds());
    node.type = {"small"};
    node.provider = "north";
    node.pool = "main";
    if (!resources.empty()) node.resources = model::Json{resources};
    if (!journal.empty()) node.launch_journal = model::Json{journal};
    return run(launcher_.add_node(node));
  }

  std::string explain(const std::string& subject, bool online = false) {
    std::vector<std::string> arguments{"explain", subject};
    if (online) arguments.emplace_back("--online");
    EXPECT_EQ(nodepool(arguments), 0) << err();
    return out();
  }
};

TEST_F(ExplainCloudsTest, a_request_is_explained_by_what_the_records_say) {
  add_node(NodeState::in_use, R"({"instances": 1, "cores": 4, "ram": 8192})");
  const std::string building = add_node(NodeState::building, "");
  coordination::Lock lock(store_, random_, model::node_lock_path(building));
  ASSERT_TRUE(run(lock.try_acquire()));
  EXPECT_THAT(explain(add_request({"small", "small"})),
              HasSubstr("    needs     8 cores, 2 instances, 16384 ram\n"
                        "    pool      instances: 2 used of 4, 2 left\n"
                        "    provider  4 cores, 2 instances, 8192 ram used; use --online to "
                        "query its quota\n"
                        "    launches  1 under way, max-concurrency 5\n"));
}

TEST_F(ExplainCloudsTest, a_cloud_that_was_not_asked_may_serve_a_request) {
  const std::string id = add_request({"small"});
  EXPECT_THAT(explain(id), HasSubstr("  reason      north-main on l1 may serve it; its decisions "
                                     "are known on l1: use --url\n"));
  EXPECT_THAT(explain(id, /*online=*/true), Not(HasSubstr("may serve it")));
}

TEST_F(ExplainCloudsTest, values_that_only_the_cloud_knows_are_marked) {
  EXPECT_THAT(explain(add_request({"small"})),
              HasSubstr("needs     1 instance, plus what the cloud knows of small (use --online)"));
}

TEST_F(ExplainCloudsTest, with_online_the_rest_comes_from_the_cloud) {
  add_node(NodeState::in_use, R"({"instances": 1, "cores": 4, "ram": 8192})");
  drivers::fake::ServerSpec other;
  other.flavor = "Fake Flavor";
  clouds_->cloud("north")->create("other", other, /*is_broken=*/false, clock_.now());
  EXPECT_THAT(explain(add_request({"small", "lost"}), /*online=*/true),
              HasSubstr("    needs     8 cores, 2 instances, 16384 ram\n"
                        "    pool      instances: 1 used of 4, 3 left\n"
                        "    provider  cores: 4 used of 16, 12 left; instances: 1 used of 9, 8 "
                        "left\n"
                        "    launches  0 under way, max-concurrency 5\n"
                        "    label     lost: images are not available: the cloud has no image "
                        "Nowhere\n"));
}

TEST_F(ExplainCloudsTest, a_failing_cloud_is_reported_with_the_reason) {
  clouds_->cloud("north")->fail_next(drivers::fake::CloudCall::limits, {}, 100);
  EXPECT_THAT(explain("small", /*online=*/true), HasSubstr("    provider  not known: "));
}

TEST_F(ExplainCloudsTest, the_usual_boot_time_is_shown_where_it_is_known) {
  EXPECT_THAT(explain("small"), Not(HasSubstr("boots")));
  run(model::write_boot_record(store_, "north", {{"small", {4.0, 5.5, 5.0}}, {"built", {60.0}}}));
  EXPECT_THAT(explain("small"),
              HasSubstr("    boots     small: usually 5.0 s, the last 3 took 4.0 s to 5.5 s\n"));
  EXPECT_THAT(
      explain(add_node(NodeState::building, "", R"({"attempt": 1, "undo": false, "steps": {}})")),
      HasSubstr("boots       small: usually 5.0 s"));
}

TEST_F(ExplainCloudsTest, a_diskimage_that_is_not_uploaded_is_a_problem_of_its_label) {
  const std::string problem =
      "label     built: images are not available: no ready upload of trixie";
  EXPECT_THAT(explain("built"), HasSubstr(problem));
  EXPECT_THAT(explain("small"), Not(HasSubstr("label     ")));
  model::ImageUpload upload;
  upload.set_state(model::UploadState::ready, clock_.wall_seconds());
  upload.external_id = model::json_string("id");
  const std::string path = model::upload_path("trixie", "b1", "north", "0000000001");
  run(coordination::ensure_path(store_, path));
  run(store_.set(path, to_record(upload), coordination::kAnyVersion));
  EXPECT_THAT(explain("built"), Not(HasSubstr(problem)));
}

TEST_F(ExplainCloudsTest, why_there_is_no_image_is_what_the_last_attempt_has_left_behind) {
  const auto put = [this](const std::string& path, const std::string& text) {
    run(coordination::ensure_path(store_, path));
    run(store_.set(path, text, coordination::kAnyVersion));
  };
  const auto put_upload = [&put](const std::string& provider, const std::string& id,
                                 const model::ImageUpload& upload) {
    put(model::upload_path("trixie", "b1", provider, id), to_record(upload));
  };
  model::ImageBuild build;
  build.fail("exit code 7", clock_.wall_seconds() - 100);
  put(model::build_path("trixie", "b1"), to_record(build));
  EXPECT_THAT(explain("built"), HasSubstr("no ready upload of trixie\n    image     the last build "
                                          "of trixie has failed: exit code 7\n"));
  build = {};
  build.set_state(model::BuildState::ready, clock_.wall_seconds() - 90);
  put(model::build_path("trixie", "b1"), to_record(build));
  EXPECT_THAT(explain("built"), Not(HasSubstr("    image ")));

  model::ImageUpload upload;
  upload.fail("quota", clock_.wall_seconds() - 80);
  put_upload("north", "0000000001", upload);
  upload.fail("no room", clock_.wall_seconds() - 70);
  put_upload("north", "0000000002", upload);
  upload.fail("elsewhere", clock_.wall_seconds() - 60);
  put_upload("south", "0000000001", upload);
  const std::string failure = "    image     the last upload of trixie has failed: no room\n";
  EXPECT_THAT(explain("built"), HasSubstr(failure));
  EXPECT_THAT(explain("built", /*online=*/true), HasSubstr(failure));
  upload = {};
  upload.set_state(model::UploadState::uploading, clock_.wall_seconds() - 50);
  put_upload("north", "0000000003", upload);
  EXPECT_THAT(explain("built"), Not(HasSubstr("    image "))) << "the next attempt is under way";

  upload.fail("later", clock_.wall_seconds() - 40);
  put_upload("north", "0000000003", upload);
  upload = {};
  upload.set_state(model::UploadState::ready, clock_.wall_seconds() - 85);
  put_upload("north", "0000000004", upload);
  EXPECT_THAT(explain("built"), Not(HasSubstr("    image "))) << "there is one";
}

TEST_F(ExplainCloudsTest, a_provider_with_an_invalid_configuration_shows_the_reason) {
  config_.replace(config_.find("cloud-image: Nowhere"), 20, "cloud-image: unknown");
  EXPECT_THAT(explain("small"), HasSubstr("its configuration on this host is invalid: "));
  EXPECT_THAT(out(), HasSubstr("unknown"));
}

TEST_F(ExplainCloudsTest, a_provider_whose_cloud_is_unknown_on_this_host_shows_the_reason) {
  config_.replace(config_.find("cloud: sky"), 10, "cloud: sea");
  EXPECT_THAT(explain("small"), ContainsRegex("  pool +instances: 0 used of 4, 4 left\n"));
  EXPECT_THAT(out(), ContainsRegex("  provider +not known: .*cloud sea not found"));
}

TEST_F(ExplainCloudsTest, a_node_that_is_launched_shows_its_attempt_and_steps) {
  const std::string begun = std::to_string(clock_.wall_seconds() - 12);
  const std::string id = add_node(NodeState::building, "",
                                  R"({"attempt": 2, "undo": false, "steps": {
      "floating ip": {"begun": )" + begun +
                                      R"(},
      "server": {"begun": )" + begun + R"(, "result": "3f2a"}}})");
  EXPECT_THAT(explain(id),
              HasSubstr("  launch      attempt 2 of 3\n"
                        "  step        floating ip begun 0:00:12 ago, outcome not known yet\n"
                        "  step        server done: 3f2a; begun 0:00:12 ago\n"
                        "  next        it is unlocked: a launcher resumes its launch"));
  coordination::Lock lock(store_, random_, model::node_lock_path(id));
  ASSERT_TRUE(run(lock.try_acquire()));
  EXPECT_THAT(explain(id), HasSubstr("if its launcher dies, another one resumes the launch"));
}

TEST_F(ExplainCloudsTest, what_a_failed_attempt_has_made_is_deleted_first) {
  const std::string id =
      add_node(NodeState::building, "", R"({"attempt": 3, "undo": true, "steps": {}})");
  EXPECT_THAT(
      explain(id),
      HasSubstr("launch      attempt 3 of 3, deleting the resources of the previous attempt\n"));
}

TEST_F(ExplainCloudsTest, an_unreadable_journal_is_reported) {
  EXPECT_THAT(explain(add_node(NodeState::building, "", R"({"attempt": "x"})")),
              HasSubstr("launch      invalid 'launch_journal'"));
}

TEST_F(ExplainCloudsTest, a_request_that_is_served_shows_its_launches) {
  const std::string request = add_request({"small"});
  const std::string id =
      add_node(NodeState::building, "", R"({"attempt": 1, "undo": false, "steps": {}})");
  Node node = model::parse_node(id, run(store_.get(model::node_path(id))));
  node.allocated_to = request;
  run(store_.set(model::node_path(id), to_record(node), coordination::kAnyVersion));
  coordination::Lock lock(store_, random_, model::node_lock_path(id));
  ASSERT_TRUE(run(lock.try_acquire()));
  model::NodeRequest served =
      model::parse_node_request(request, run(store_.get(model::request_path(request))));
  served.set_state(model::RequestState::pending, clock_.wall_seconds());
  run(store_.set(model::request_path(request), to_record(served), coordination::kAnyVersion));
  EXPECT_THAT(explain(request), HasSubstr("  launch      attempt 1 of 3\n"));
  EXPECT_THAT(out(), HasSubstr("  reason      node " + id +
                               " is building, attempt 1 of 3\n"
                               "  advice      allow more time (--timeout): a launch is under "
                               "way\n"));
}

TEST_F(ExplainCloudsTest, a_provider_without_concurrency_accepts_nothing) {
  config_.replace(config_.find("max-concurrency: 5"), 18, "max-concurrency: 0");
  const std::string id = add_request({"small"});
  const std::string why = "accepts no requests: max-concurrency of provider north is 0\n";
  EXPECT_THAT(explain(id), HasSubstr("  reason      north-main on l1 " + why +
                                     "  advice      raise max-concurrency of provider north\n"));
  EXPECT_THAT(out(), HasSubstr("  north-main on l1\n    " + why));
  EXPECT_THAT(explain("small"), HasSubstr("  " + id + ": north-main on l1 " + why));
}

TEST_F(ExplainCloudsTest, launches_are_named_if_they_are_all_that_is_allowed) {
  config_.replace(config_.find("max-concurrency: 5"), 18, "max-concurrency: 1");
  const std::string building = add_node(NodeState::building, "");
  coordination::Lock lock(store_, random_, model::node_lock_path(building));
  ASSERT_TRUE(run(lock.try_acquire()));
  EXPECT_THAT(explain("small"),
              HasSubstr("    launches  1 under way, max-concurrency 1: node " + building + "\n"));
  EXPECT_THAT(
      explain(add_request({"small"}), /*online=*/true),
      HasSubstr("max-concurrency is 1 (until a launch ends)\n"
                "  advice      allow more time (--timeout), or raise max-concurrency of the "
                "provider\n"));
}

TEST_F(ExplainCloudsTest, a_disabled_pool_is_not_over_its_limit) {
  config_.replace(config_.find("max-servers: 4"), 14, "max-servers: 0");
  add_node(NodeState::ready, R"({"instances": 1, "cores": 4, "ram": 8192})");
  EXPECT_THAT(explain("small"), HasSubstr("    pool      disabled: max-servers is 0; 4 cores, 1 "
                                          "instance, 8192 ram used\n"));
  EXPECT_THAT(explain(add_request({"small", "small"}), /*online=*/true),
              HasSubstr("declines: pool is disabled: max-servers is 0\n"));
}

TEST_F(ExplainCloudsTest, the_problem_of_a_label_is_what_the_launcher_reports) {
  model::Component launcher;
  launcher.hostname = "l1";
  launcher.problems = {"pool north-main cannot serve label lost: there is no image Nowhere"};
  run(coordination::ensure_path(store_, "/nodepool/components/launcher"));
  run(store_.create("/nodepool/components/launcher/l1", to_record(launcher),
                    coordination::CreateMode::ephemeral_sequential));
  EXPECT_THAT(explain("lost"), HasSubstr("    label     lost: there is no image Nowhere\n"));
  EXPECT_THAT(explain("small"), Not(HasSubstr("    label ")));
}

}  // namespace
}  // namespace nodepool::cli
