// Tests the validation of uploads.

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>

#include "builder/node_command.h"
#include "model/image_paths.h"
#include "model/paths.h"
#include "tests/builder/builder_fixture.h"

namespace nodepool::builder {
namespace {

using driver::LaunchError;
using model::Node;
using model::NodeState;
using model::UploadState;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ValidationTest : public BuilderFixture {
 protected:
  ValidationTest() {
    environment_["PATH"] = (directory_.path() / "bin").string() + ":/usr/bin:/bin";
  }

  // `validate`: the section's keys.
  void start_validating(const std::string& validate) { start(validating(validate)); }
  static std::string validating(const std::string& validate) {
    return yaml(kDeb, "  - {name: sky1, driver: sky, diskimages: [{name: deb, validate: {" +
                          validate + "}}]}\n");
  }

  // Installs a shell script as `ssh`.
  void write_ssh(const std::string& script) {
    const auto ssh = directory_.write("bin/ssh", "#!/bin/sh\n" + script);
    std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
  }

  std::vector<Node> nodes() {
    std::vector<Node> found;
    const std::string root(model::kNodesRoot);
    if (!exists(root)) return found;
    for (const std::string& id : loop_.run(people_->children(root))) {
      found.push_back(model::parse_node(id, loop_.run(people_->get(model::node_path(id)))));
    }
    return found;
  }
  bool is_locked(const std::string& node) {
    const std::string lock = model::node_lock_path(node);
    return exists(lock) && !loop_.run(people_->children(lock)).empty();
  }

  // A validated upload, and a newer build whose validation is due.
  void start_with_a_good_one(const std::string& validate) {
    start_validating(validate);
    ASSERT_THAT(uploads(UploadState::ready), SizeIs(1));
    pass(minutes(59));
  }
};

TEST_F(ValidationTest, an_upload_is_ready_once_a_node_made_from_it_has_come_up) {
  sky_->launch_time = minutes(2);
  start_validating("");
  ASSERT_THAT(uploads(UploadState::uploading), SizeIs(1));
  ASSERT_THAT(nodes(), SizeIs(1));
  const Node node = nodes().front();
  EXPECT_EQ(node.state, NodeState::building);
  EXPECT_TRUE(is_locked(node.id));
  EXPECT_EQ(node.provider, "sky1");
  EXPECT_EQ(node.pool, "main");
  EXPECT_THAT(node.type, testing::ElementsAre("small"));
  EXPECT_EQ(node.allocated_to, std::nullopt);
  EXPECT_THAT(node.comment.value_or(""), HasSubstr("of image deb"));
  EXPECT_EQ(sky_->machines.at(node.id), "image-1");
  pass(minutes(2));
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_EQ(uploads().front().external_id.string_value(), "image-1");
  EXPECT_THAT(nodes(), IsEmpty());
  EXPECT_THAT(sky_->machines, IsEmpty());
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(ValidationTest, an_image_with_an_unreachable_node_fails_and_the_previous_one_stays) {
  start_with_a_good_one("");
  sky_->launch_failures.assign(1, LaunchError(LaunchError::Kind::unreachable, "key scan: silence"));
  pass(minutes(1));
  ASSERT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_EQ(uploads(UploadState::failed).front().failure, "validation: key scan: silence");
  ASSERT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_EQ(uploads(UploadState::ready).front().external_id.string_value(), "image-1");
  EXPECT_THAT(nodes(), IsEmpty());
  EXPECT_THAT(sky_->machines, IsEmpty());
  EXPECT_THAT(sky_->images, SizeIs(1)) << "that of the first one";
  EXPECT_THAT(log_, Contains(testing::AllOf(HasSubstr("validation: key scan: silence"),
                                            HasSubstr("retrying in 10 s"))));
  pass(seconds(10));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(2)) << "it was uploaded once more";
}

TEST_F(ValidationTest, the_command_decides) {
  write_ssh(
      "for last; do :; done; echo \"$last\"; cat \"$(echo \"$*\" | sed "
      "'s/.*UserKnownHostsFile=//; s/ .*//')\"\n");
  start_with_a_good_one("command: 'test -x \"/usr/bin/python3\"'");
  const std::string build = builds().front().id;
  EXPECT_EQ(
      test_support::read_file(directory_.path() / "logs/validations" / ("deb-" + build + ".log")),
      "test -x \"/usr/bin/python3\"\nnode ssh-ed25519 AAAA\n");
  write_ssh("exit 3\n");
  pass(minutes(1));
  ASSERT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_THAT(uploads(UploadState::failed).front().failure.value_or(""),
              HasSubstr("failed with exit code 3"));
  EXPECT_THAT(sky_->images, SizeIs(1));
  EXPECT_THAT(sky_->machines, IsEmpty());
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
}

TEST_F(ValidationTest, the_command_is_run_without_a_log_if_none_can_be_opened) {
  directory_.write("logs/validations", "not a directory");
  write_ssh("exit 0\n");
  start_validating("command: 'true'");
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_THAT(log_, testing::ElementsAre(HasSubstr("the output is discarded")));
}

TEST_F(ValidationTest, logging_in_may_take_several_attempts) {
  const std::string marker = directory_.path() / "tried";
  write_ssh("test -e " + marker + " && exit 0\ntouch " + marker + "\nexit 255\n");
  start_validating("command: 'true'");
  EXPECT_THAT(uploads(UploadState::uploading), SizeIs(1));
  pass(seconds(5));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));

  write_ssh("exit 255\n");
  pass(hours(1));
  EXPECT_THAT(uploads(UploadState::uploading), SizeIs(1));
  pass(minutes(10));
  ASSERT_THAT(log_, Contains(HasSubstr("failed with exit code 255")));
}

TEST_F(ValidationTest, a_launch_that_fails_for_lack_of_quota_is_retried) {
  sky_->launch_failures = {LaunchError(LaunchError::Kind::quota, "full"),
                           LaunchError(LaunchError::Kind::failed, "no flavor")};
  start_validating("");
  EXPECT_THAT(log_, Contains(testing::AllOf(HasSubstr("full"), HasSubstr("retrying in 10 s"))));
  EXPECT_THAT(nodes(), IsEmpty()) << "nothing is held meanwhile";
  EXPECT_THAT(uploads(UploadState::uploading), SizeIs(1));
  pass(seconds(10));
  EXPECT_EQ(sky_->launches, 2);
  pass(seconds(20));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_EQ(sky_->uploads, 1) << "the image was not to blame";
}

TEST_F(ValidationTest, a_new_configuration_ends_the_wait_for_quota) {
  sky_->launch_failures = {LaunchError(LaunchError::Kind::quota, "full")};
  start_validating("");
  reconfigure(yaml(kDeb, "  - {name: sky1, driver: sky, diskimages: [{name: deb}]}\n"));
  pass(seconds(20));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_EQ(sky_->launches, 1);
  EXPECT_EQ(sky_->uploads, 2);
  EXPECT_THAT(sky_->images, SizeIs(1));
}

TEST_F(ValidationTest, a_reload_during_an_upload_does_not_discard_it) {
  sky_->upload_time = minutes(10);
  start_validating("");
  pass(minutes(5));
  sky_->start_time = minutes(10);
  reconfigure(yaml(kDeb,
                   "  - {name: sky1, driver: sky, post-upload-hook: /bin/false, diskimages: "
                   "[{name: deb, validate: {}}]}\n"));
  pass(minutes(10));
  ASSERT_THAT(uploads(), SizeIs(1));
  EXPECT_EQ(uploads().front().state, UploadState::ready);
  EXPECT_EQ(sky_->uploads, 1);
  EXPECT_EQ(sky_->launches, 1);
}

TEST_F(ValidationTest, what_is_no_longer_configured_is_left_out) {
  sky_->upload_time = minutes(10);
  start_validating("");
  pass(minutes(5));
  reconfigure(yaml(kDeb, "  - {name: sky1, driver: sky, diskimages: [{name: deb}]}\n"));
  pass(minutes(10));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_EQ(sky_->uploads, 1);
  EXPECT_EQ(sky_->launches, 0);
}

TEST_F(ValidationTest, an_upload_is_validated_although_a_newer_build_is_ready) {
  sky_->upload_time = minutes(90);
  start_validating("");
  pass(minutes(95));
  EXPECT_EQ(sky_->launches, 1);
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
}

TEST_F(ValidationTest, a_node_that_cannot_be_reclaimed_is_left_to_the_launchers) {
  sky_->cannot_take_back = true;
  start_validating("");
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  ASSERT_THAT(nodes(), SizeIs(1));
  EXPECT_EQ(nodes().front().state, NodeState::deleting);
  EXPECT_FALSE(is_locked(nodes().front().id));
}

TEST_F(ValidationTest, a_lost_node_does_not_fail_the_image) {
  sky_->launch_time = minutes(1);
  sky_->launch_failures = {LaunchError(LaunchError::Kind::unreachable, "it was deleted")};
  start_validating("");
  const std::string node = nodes().front().id;
  loop_.run(coordination::force_unlock(*people_, model::node_lock_path(node)));
  pass(minutes(1));
  EXPECT_THAT(uploads(UploadState::uploading), SizeIs(1));
  EXPECT_EQ(nodes().front().state, NodeState::building) << "a launcher may work on it";
  pass(minutes(2));
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
  EXPECT_EQ(sky_->uploads, 1);
}

TEST_F(ValidationTest, a_killed_builder_leaves_a_node_to_reclaim_and_starts_again) {
  sky_->launch_time = minutes(2);
  start_validating("");
  kill();
  ASSERT_THAT(nodes(), SizeIs(1));
  const Node left = nodes().front();
  EXPECT_TRUE(is_reclaimable(left.state));
  EXPECT_FALSE(is_locked(left.id));
  EXPECT_EQ(left.external_id_text(), "machine of " + left.id);
  start_validating("");
  pass(minutes(3));
  ASSERT_THAT(uploads(), SizeIs(1));
  EXPECT_EQ(uploads().front().state, UploadState::ready);
  EXPECT_EQ(uploads().front().external_id.string_value(), "image-2");
}

TEST_F(ValidationTest, a_builder_that_is_stopped_leaves_the_node_as_well) {
  sky_->launch_time = minutes(2);
  start_validating("");
  stop();
  ASSERT_THAT(nodes(), SizeIs(1));
  EXPECT_EQ(nodes().front().state, NodeState::building);
  EXPECT_FALSE(is_locked(nodes().front().id));
  ASSERT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_EQ(uploads().front().failure, "the builder was stopped");
  EXPECT_THAT(sky_->images, IsEmpty());
}

TEST_F(ValidationTest, a_graceful_stop_does_not_wait_for_quota) {
  sky_->launch_failures.assign(100, LaunchError(LaunchError::Kind::quota, "full"));
  start_validating("");
  EXPECT_TRUE(finish());
  EXPECT_THAT(news_, Contains(HasSubstr("Waiting for the upload of build")));
  EXPECT_EQ(sky_->launches, 1);
  ASSERT_THAT(uploads(UploadState::failed), SizeIs(1));
  EXPECT_EQ(uploads().front().failure, "the builder is stopping; last attempt: full");
  EXPECT_THAT(sky_->images, IsEmpty());
}

TEST_F(ValidationTest, an_upload_that_can_be_resumed_is_validated_after_the_restart) {
  sky_->resumes = true;
  sky_->launch_failures = {LaunchError(LaunchError::Kind::quota, "full")};
  start_validating("");
  EXPECT_TRUE(finish());
  ASSERT_THAT(uploads(UploadState::uploading), SizeIs(1));
  const std::string id = uploads().front().id;
  stop();
  start_validating("");
  pass(seconds(2));
  ASSERT_THAT(uploads(), SizeIs(1));
  EXPECT_EQ(uploads(UploadState::ready).at(0).id, id);
  EXPECT_EQ(sky_->uploads, 1);
  EXPECT_EQ(sky_->launches, 2);
}

TEST_F(ValidationTest, a_graceful_stop_completes_the_attempt) {
  sky_->launch_time = minutes(2);
  start_validating("");
  EXPECT_FALSE(finish());
  pass(minutes(2));
  EXPECT_TRUE(has_finished());
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
}

TEST_F(ValidationTest, a_graceful_stop_ends_the_attempt_in_an_outage) {
  sky_->launch_time = minutes(1);
  start_validating("");
  store_of().suspend_for_tests();
  pass(minutes(5));
  EXPECT_FALSE(finish()) << "the node's record cannot be written";
  pass(minutes(2));
  EXPECT_TRUE(has_finished());
  EXPECT_THAT(log_, Contains(HasSubstr("The store is unreachable: stopping without it")));
}

TEST_F(ValidationTest, after_an_outage_a_graceful_stop_completes_the_validation) {
  sky_->upload_time = minutes(10);
  start_validating("");
  EXPECT_FALSE(finish());
  store_of().suspend_for_tests();
  pass(minutes(2));
  store_of().resume_for_tests();
  pass(minutes(9));
  EXPECT_TRUE(has_finished());
  EXPECT_THAT(uploads(UploadState::ready), SizeIs(1));
}

TEST(NodeCommandTest, ssh_is_non_interactive_and_trusts_only_the_scanned_keys) {
  Node node;
  node.interface_ip = "192.0.2.7";
  node.username = "ci";
  node.connection_port = model::Json{"2222"};
  node.host_keys = {"ssh-ed25519 AAAA", "ssh-rsa BBBB"};
  const std::vector<std::string> arguments = ssh_arguments(node, "/tmp/keys", "true && false");
  EXPECT_THAT(
      arguments,
      testing::IsSupersetOf({std::string("BatchMode=yes"), std::string("StrictHostKeyChecking=yes"),
                             std::string("UserKnownHostsFile=/tmp/keys"),
                             std::string("GlobalKnownHostsFile=/dev/null"), std::string("2222")}));
  EXPECT_EQ(arguments.at(arguments.size() - 2), "192.0.2.7");
  EXPECT_EQ(arguments.back(), "true && false") << "only the node's shell parses it";
  EXPECT_EQ(known_hosts_of(node), "node ssh-ed25519 AAAA\nnode ssh-rsa BBBB\n");
}

}  // namespace
}  // namespace nodepool::builder
