// Launches without deaths: attempts, outcomes nobody knows, time limits, what the record says.

#include "driver/statemachine/launch_journal.h"
#include "tests/driver/statemachine/provider_test.h"
#include "tests/support/network.h"

namespace nodepool::driver {
namespace {

using model::Json;
using model::Node;
using model::NodeState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = CloudError::Kind;

class LaunchTest : public ProviderTest {
 protected:
  async::Duration time_for(const std::function<void()>& action) {
    const auto begun = installation_.clock.now();
    action();
    return installation_.clock.now() - begun;
  }
};

TEST_F(LaunchTest, the_node_is_described_as_the_machine_is) {
  Instance& machine = cloud_->described;
  machine.interface_ip = "front";
  machine.public_ipv4 = "192.0.2.1";
  machine.private_ipv4 = "10.0.0.1";
  machine.public_ipv6 = "2001:db8::1";
  machine.cloud = "sky";
  machine.region = "north";
  machine.az = "az2";
  machine.host_id = "h7";
  machine.driver_data = Json{R"({"a": 1})"};
  machine.slot = 3;
  machine.node_properties = Json{R"({"spot": true})"};
  machine.node_attributes = Json{R"({"rack": "r1"})"};
  machine.resources = Resources({{"instances", 1}, {"cores", 2}, {"ram", 512}});
  MachineLabel& label = config_->label("small");
  label.access = {.username = "ci",
                  .python_path = "/usr/bin/python3",
                  .shell_type = "sh",
                  .connection_type = "ssh",
                  .connection_port = 2222};
  const Node node = launch_new();
  EXPECT_EQ(node.state, NodeState::ready);
  EXPECT_EQ(node.external_id_text(), "np" + node.id);
  EXPECT_EQ(node.interface_ip, "front");
  EXPECT_EQ(node.public_ipv4, "192.0.2.1");
  EXPECT_EQ(node.private_ipv4, "10.0.0.1");
  EXPECT_EQ(node.public_ipv6, "2001:db8::1");
  EXPECT_EQ(node.cloud, "sky");
  EXPECT_EQ(node.region, "north");
  EXPECT_EQ(node.az, "az2");
  EXPECT_EQ(node.host_id, "h7");
  EXPECT_EQ(node.driver_data.text, R"({"a": 1})");
  EXPECT_EQ(node.slot, 3);
  EXPECT_EQ(node.node_properties.text, R"({"spot": true})");
  EXPECT_EQ(node.attributes.text, R"({"rack": "r1"})");
  EXPECT_EQ(node.resources.text, R"({"cores": 2, "instances": 1, "ram": 512})");
  EXPECT_EQ(node.image_id, "jammy");
  EXPECT_EQ(node.username, "ci");
  EXPECT_EQ(node.python_path, "/usr/bin/python3");
  EXPECT_EQ(node.shell_type, "sh");
  EXPECT_EQ(node.connection_type, "ssh");
  EXPECT_EQ(node.port(), 2222);
  EXPECT_THAT(node.host_keys, SizeIs(1)) << "an imaginary host has a key";
  EXPECT_TRUE(node.launch_journal.is_null()) << "it is over";
  ASSERT_THAT(cloud_->servers, SizeIs(1));
  EXPECT_EQ(cloud_->servers[0].metadata,
            (Metadata{{"nodepool_installation_id", harness::kInstallationId},
                      {"nodepool_node_created", "1700000000.000000"},
                      {"nodepool_node_id", node.id},
                      {"nodepool_pool_name", "main"},
                      {"nodepool_provider_name", "cloud"}}));
  EXPECT_THAT(cloud_->calls, ElementsAre("make disk", "make server", "look"));
}

TEST_F(LaunchTest, internal_addresses_are_used_where_the_pool_wants_them) {
  config_->machine_pools_.at("main").use_internal_ip = true;
  cloud_->described.private_ipv4 = "inside";
  cloud_->described.private_ipv6 = "inside-6";
  EXPECT_EQ(launch_new().interface_ip, "inside");
  cloud_->described.private_ipv4 = "";
  EXPECT_EQ(launch_new().interface_ip, "inside-6");
  cloud_->described.private_ipv6 = std::nullopt;
  EXPECT_EQ(launch_new().interface_ip, "outside") << "there is no other";
}

TEST_F(LaunchTest, a_label_of_a_diskimage_is_made_from_its_newest_ready_upload) {
  EXPECT_THAT(launch_error("built").what(), HasSubstr("no ready upload of image trixie"));
  add_upload("b1", 10);
  add_upload("b2", 20);
  add_upload("b3", 30, model::UploadState::uploading);
  add_upload("b4", 40, model::UploadState::ready, "elsewhere");
  const Node node = launch_new("built");
  ASSERT_THAT(cloud_->servers, SizeIs(1));
  EXPECT_EQ(cloud_->servers[0].image, "image-of-b2");
  EXPECT_EQ(node.image_id, "/nodepool/images/trixie/builds/b2/providers/cloud/images/0000000000");
}

// --- attempts

TEST_F(LaunchTest, a_failed_attempt_is_rolled_back_before_the_next) {
  cloud_->fail("look", {Kind::failed});
  const Node node = launch_new();
  EXPECT_EQ(node.state, NodeState::ready);
  EXPECT_THAT(cloud_->calls, ElementsAre("make disk", "make server", "look", "remove", "make disk",
                                         "make server", "look"));
  EXPECT_THAT(cloud_->servers, SizeIs(1));
  EXPECT_TRUE(has_logged("! [node_request: 200-0000000000] [node: " + node.id +
                         "] Launch attempt 1/3 failed: look went wrong"));
}

// Credentials that cannot be had for some minutes cost no node.
TEST_F(LaunchTest, between_attempts_that_do_not_reach_the_cloud_there_is_a_pause) {
  for (const Kind kind : {Kind::auth, Kind::transient}) {
    cloud_->fail("make disk", {kind}, 2);
    const auto time = time_for([&] { EXPECT_EQ(launch_new().state, NodeState::ready); });
    EXPECT_GE(time, seconds(15 + 30));
  }
  cloud_->fail("make disk", {Kind::no_capacity}, 2);
  EXPECT_EQ(time_for([&] { launch_new(); }), seconds(0)) << "this one has been tried";
}

TEST_F(LaunchTest, resources_of_the_last_attempt_remain_until_the_node_is_reclaimed) {
  cloud_->fail("make server", {Kind::no_capacity}, 10);
  const LaunchError error = launch_error();
  EXPECT_EQ(error.kind(), LaunchError::Kind::failed);
  EXPECT_STREQ(error.what(), "make server went wrong");
  EXPECT_EQ(cloud_->count("make server"), 3U);
  EXPECT_EQ(cloud_->count("remove"), 2U);
  EXPECT_THAT(cloud_->disks, SizeIs(1));
}

TEST_F(LaunchTest, a_failed_rollback_is_retried) {
  cloud_->fail("look", {Kind::failed});
  cloud_->fail("remove", {Kind::transient}, 3);
  const auto time = time_for([&] { EXPECT_EQ(launch_new().state, NodeState::ready); });
  EXPECT_EQ(time, seconds(15)) << "five between two of them";
  EXPECT_EQ(cloud_->count("remove"), 4U);
}

// Whoever has it now goes on, or the store is another one, which knows nothing of the machine.
TEST_F(LaunchTest, a_rollback_is_not_retried_after_the_lock_of_the_node_is_lost) {
  cloud_->fail("look", {Kind::failed});
  cloud_->fail("remove", {Kind::transient}, 10);
  start();
  const auto job = process_->launch(add_node(), [this](const Node& /*node*/) {
    if (cloud_->count("remove") < 2) return;
    throw coordination::StoreError(coordination::StoreError::Kind::no_node, "the node's lock");
  });
  process_->run_until_ended(*job);
  EXPECT_EQ(cloud_->count("remove"), 2U);
}

TEST_F(LaunchTest, resources_that_are_not_found_twice_need_no_rollback) {
  cloud_->fail("look", {Kind::failed});
  cloud_->fail("remove", {.kind = Kind::not_found, .is_done = true}, 2);
  const auto time = time_for([&] { EXPECT_EQ(launch_new().state, NodeState::ready); });
  EXPECT_EQ(time, seconds(30)) << "they might not have been known yet";
  EXPECT_EQ(cloud_->count("remove"), 2U);
}

TEST_F(LaunchTest, what_was_refused_is_not_looked_for_twice) {
  cloud_->fail("make disk", {Kind::failed});
  cloud_->fail("remove", {Kind::not_found}, 2);
  const auto time = time_for([&] { EXPECT_EQ(launch_new().state, NodeState::ready); });
  EXPECT_EQ(time, seconds(0));
  EXPECT_EQ(cloud_->count("remove"), 1U);
}

TEST_F(LaunchTest, a_quota_error_ends_the_launch) {
  cloud_->fail("make server", {Kind::quota});
  const LaunchError error = launch_error();
  EXPECT_EQ(error.kind(), LaunchError::Kind::quota);
  EXPECT_THAT(cloud_->calls, ElementsAre("make disk", "make server"));
}

TEST_F(LaunchTest, a_rejected_creation_needs_no_search) {
  cloud_->fail("make disk", {Kind::quota});
  launch_error();
  const std::string id = installation_.nodes().front();
  EXPECT_EQ(node(id).state, NodeState::aborted);
  const auto time = time_for([&] {
    const auto job = process_->reclaim(id);
    process_->run_until_ended(*job);
    job->result();
  });
  EXPECT_EQ(time, seconds(0));
  EXPECT_EQ(cloud_->count("list"), 0U);
}

TEST_F(LaunchTest, permanent_errors_are_not_retried) {
  cloud_->fail("make disk", {Kind::permanent});
  const LaunchError error = launch_error();
  EXPECT_EQ(error.kind(), LaunchError::Kind::failed);
  EXPECT_THAT(cloud_->calls, ElementsAre("make disk"));
}

TEST_F(LaunchTest, a_cloud_that_does_not_respond_is_told_from_one_that_fails) {
  for (const auto& [kind, told] : {std::pair(Kind::auth, LaunchError::Kind::unanswered),
                                   std::pair(Kind::transient, LaunchError::Kind::unanswered),
                                   std::pair(Kind::failed, LaunchError::Kind::failed)}) {
    cloud_->fail("make disk", {kind}, 3);
    EXPECT_EQ(launch_error().kind(), told);
  }
}

TEST_F(LaunchTest, other_errors_are_retried) {
  for (const Kind kind : {Kind::auth, Kind::transient, Kind::not_found, Kind::failed}) {
    cloud_->fail("make disk", {kind});
    EXPECT_EQ(launch_new().state, NodeState::ready);
  }
}

TEST_F(LaunchTest, the_time_of_an_attempt_is_limited_and_what_it_made_goes) {
  config_->launch_timeout_ = minutes(10);
  config_->launch_retries_ = 2;
  cloud_->boot_time = minutes(11);
  const auto time = time_for([&] {
    const LaunchError error = launch_error();
    EXPECT_EQ(error.kind(), LaunchError::Kind::unanswered) << "for all that the launch knows";
    EXPECT_THAT(error.what(), HasSubstr("launching the machine"));
  });
  EXPECT_EQ(time, minutes(20));
  EXPECT_EQ(cloud_->count("remove"), 1U);
  EXPECT_THAT(cloud_->servers, SizeIs(1)) << "of the last attempt";
}

TEST_F(LaunchTest, an_attempt_that_is_cut_short_within_a_call_leaves_nothing) {
  config_->launch_timeout_ = minutes(10);
  cloud_->latency = minutes(16);  // it acts after 8
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->pass(minutes(9));
  EXPECT_THAT(cloud_->disks, SizeIs(1)) << "made, and the response is still due";
  cloud_->latency = seconds(0);
  process_->run_until_ended(*job);
  job->result();
  EXPECT_THAT(cloud_->disks, SizeIs(1)) << "that of the second attempt";
  EXPECT_EQ(cloud_->count("remove"), 1U);
}

// --- outcomes that nobody knows

TEST_F(LaunchTest, a_resource_with_a_lost_response_is_found_again) {
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
  cloud_->hidden = seconds(12);
  const auto time = time_for([&] { EXPECT_EQ(launch_new().state, NodeState::ready); });
  EXPECT_EQ(time, seconds(12));
  EXPECT_EQ(cloud_->count("make server"), 1U);
  EXPECT_EQ(cloud_->count("find server"), 13U) << "once in a second";
  EXPECT_THAT(cloud_->servers, SizeIs(1));
}

TEST_F(LaunchTest, a_resource_that_does_not_appear_in_the_consistency_delay_is_created_again) {
  cloud_->fail("make server", {.kind = Kind::unknown_outcome});
  const auto time = time_for([&] { EXPECT_EQ(launch_new().state, NodeState::ready); });
  EXPECT_EQ(time, seconds(30));
  EXPECT_EQ(cloud_->count("make server"), 2U);
  EXPECT_THAT(cloud_->servers, SizeIs(1));
}

TEST_F(LaunchTest, a_creation_that_never_gets_a_response_is_repeated_for_ten_minutes) {
  config_->launch_retries_ = 1;
  cloud_->fail("make server", {.kind = Kind::unknown_outcome}, 1000);
  const std::string id = add_node();
  const auto job = start().launch(id);
  const auto time = time_for([&] { process_->run_until_ended(*job); });
  try {
    job->result();
    ADD_FAILURE() << "launched";
  } catch (const LaunchError& error) {
    EXPECT_EQ(error.kind(), LaunchError::Kind::failed);
    EXPECT_STREQ(error.what(), "make server went wrong");
  }
  EXPECT_EQ(time, minutes(10) + seconds(30)) << "until the last search has found nothing";
  EXPECT_EQ(cloud_->count("make server"), 21U);
  EXPECT_TRUE(LaunchJournal::parse(node(id).launch_journal).is_uncertain());
}

TEST_F(LaunchTest, a_creation_that_the_cloud_answers_with_an_error_of_its_own_is_given_up_soon) {
  config_->launch_retries_ = 1;
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_answer = true}, 1000);
  const auto time = time_for([&] {
    const LaunchError error = launch_error();
    EXPECT_EQ(error.kind(), LaunchError::Kind::failed);
    EXPECT_STREQ(error.what(), "make server went wrong");
  });
  EXPECT_EQ(time, minutes(1)) << "a repetition, each with a search until the end of the delay";
  EXPECT_EQ(cloud_->count("make server"), 2U);
}

TEST_F(LaunchTest, an_error_of_the_cloud_in_an_outage_does_not_shorten_its_time) {
  config_->launch_retries_ = 1;
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_answer = true});
  cloud_->fail("make server", {.kind = Kind::unknown_outcome});
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_answer = true});
  EXPECT_EQ(launch_new().state, NodeState::ready);
  EXPECT_EQ(cloud_->count("make server"), 4U);
}

TEST_F(LaunchTest, an_outage_does_not_count_as_time_in_which_a_creation_is_repeated) {
  config_->launch_retries_ = 1;
  cloud_->fail("make server", {.kind = Kind::unknown_outcome}, 2);
  cloud_->fail("find server", {Kind::transient}, 700);
  EXPECT_EQ(launch_new().state, NodeState::ready);
  EXPECT_EQ(cloud_->count("make server"), 3U);
}

TEST_F(LaunchTest, a_launch_without_a_response_for_long_leaves_its_request_to_another_pool) {
  installation_.others_may_serve = true;
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
  cloud_->fail("find server", {Kind::transient}, 1000);
  const std::string id = add_node();
  const auto job = start().launch(id);
  const auto time = time_for([&] { process_->run_until_ended(*job); });
  try {
    job->result();
    ADD_FAILURE() << "launched";
  } catch (const LaunchError& error) {
    EXPECT_EQ(error.kind(), LaunchError::Kind::unanswered);
    EXPECT_THAT(error.what(), HasSubstr("another pool may serve the request: find server"));
  }
  EXPECT_EQ(time, minutes(10));
  EXPECT_THAT(installation_.accounts, SizeIs(1)) << "no other attempt";
  ASSERT_THAT(cloud_->servers, SizeIs(1));
  const auto deletion = process_->reclaim(id);
  process_->run_until_ended(*deletion);
  EXPECT_EQ(deletion->failure(), "");
  EXPECT_THAT(cloud_->servers, IsEmpty()) << "what may have been made is not forgotten";
}

TEST_F(LaunchTest, a_launch_outlasts_a_shorter_outage_though_another_pool_may_serve_its_request) {
  installation_.others_may_serve = true;
  cloud_->fail("make server", {.kind = Kind::unknown_outcome}, 2);
  cloud_->fail("find server", {Kind::transient}, 590);
  EXPECT_EQ(launch_new().state, NodeState::ready);
}

TEST_F(LaunchTest, an_outage_during_the_last_attempt_allows_another_one) {
  config_->launch_retries_ = 1;
  config_->launch_timeout_ = minutes(5);
  cloud_->boot_time = seconds(150);
  cloud_->fail("make server", {.kind = Kind::unknown_outcome});
  cloud_->fail("find server", {Kind::transient}, 200);
  EXPECT_EQ(launch_new().state, NodeState::ready);
  EXPECT_THAT(installation_.accounts, SizeIs(2));
}

TEST_F(LaunchTest, an_outage_allows_only_one_other_attempt) {
  config_->launch_retries_ = 1;
  config_->launch_timeout_ = minutes(5);
  cloud_->fail("make server", {.kind = Kind::unknown_outcome}, 1000);
  cloud_->fail("find server", {Kind::transient}, 10'000);
  EXPECT_EQ(launch_error().kind(), LaunchError::Kind::unanswered);
  EXPECT_THAT(installation_.accounts, SizeIs(2));
}

TEST_F(LaunchTest, a_short_outage_does_not_excuse_the_last_attempt) {
  config_->launch_retries_ = 1;
  config_->launch_timeout_ = minutes(5);
  cloud_->boot_time = minutes(10);
  cloud_->fail("make server", {.kind = Kind::unknown_outcome});
  cloud_->fail("find server", {Kind::transient}, 20);
  EXPECT_EQ(launch_error().kind(), LaunchError::Kind::unanswered);
  EXPECT_THAT(installation_.accounts, SizeIs(1));
}

TEST_F(LaunchTest, an_attempt_that_times_out_names_the_error_of_a_step_of_unknown_outcome) {
  config_->launch_retries_ = 1;
  config_->launch_timeout_ = minutes(5);
  cloud_->fail("make disk", {.kind = Kind::unknown_outcome});
  cloud_->fail("make server", {.kind = Kind::unknown_outcome}, 1000);
  const LaunchError error = launch_error();
  EXPECT_EQ(error.kind(), LaunchError::Kind::unanswered);
  EXPECT_STREQ(error.what(), "timed out: launching the machine: make server went wrong");
}

TEST_F(LaunchTest, an_attempt_that_times_out_names_no_error_of_a_step_that_is_done) {
  config_->launch_retries_ = 1;
  config_->launch_timeout_ = minutes(5);
  cloud_->fail("make disk", {.kind = Kind::unknown_outcome});
  cloud_->boot_time = minutes(10);
  EXPECT_STREQ(launch_error().what(), "timed out: launching the machine");
}

TEST_F(LaunchTest, an_attempt_that_times_out_names_why_its_machine_could_not_be_polled) {
  config_->launch_retries_ = 1;
  config_->launch_timeout_ = minutes(5);
  cloud_->boot_time = minutes(10);
  cloud_->unlisted = "HTTP 403: forbidden";
  EXPECT_STREQ(launch_error().what(), "timed out: launching the machine: HTTP 403: forbidden");
  ASSERT_THAT(installation_.accounts, SizeIs(2)) << "it may just have become possible";
  EXPECT_EQ(installation_.accounts.front().events.back().outcome, "HTTP 403: forbidden");
}

TEST_F(LaunchTest, a_failed_search_does_not_prove_that_nothing_was_created) {
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
  cloud_->fail("find server", {Kind::transient}, 40);
  cloud_->fail("find server", {Kind::auth}, 40);
  cloud_->fail("find server", {Kind::failed}, 20);
  const auto time = time_for([&] { EXPECT_EQ(launch_new().state, NodeState::ready); });
  EXPECT_EQ(time, seconds(100)) << "the first look that is answered";
  EXPECT_EQ(cloud_->count("make server"), 1U);
  EXPECT_THAT(cloud_->servers, SizeIs(1));
  EXPECT_TRUE(has_logged("Cannot determine whether step \"server\" was done"));
}

TEST_F(LaunchTest, a_permanent_search_error_ends_the_launch_and_the_step_stays_unknown) {
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
  cloud_->fail("find server", {Kind::permanent});
  const std::string id = add_node();
  const auto job = start().launch(id);
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "find server went wrong");
  EXPECT_EQ(cloud_->count("make server"), 1U);
  EXPECT_TRUE(LaunchJournal::parse(node(id).launch_journal).is_uncertain());
}

TEST_F(LaunchTest, a_rejection_leaves_the_outcome_of_the_previous_call_unknown) {
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
  cloud_->fail("make server", {Kind::quota});
  cloud_->hidden = seconds(31);  // longer than a cloud should take
  const std::string id = add_node();
  auto job = start().launch(id);
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "make server went wrong");
  ASSERT_THAT(cloud_->servers, SizeIs(1));
  cloud_->servers.front().name = "np-of-a-lost-answer";  // its id is not known
  process_->pass(seconds(1));
  job = process_->reclaim(id);
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "");
  EXPECT_THAT(cloud_->servers, IsEmpty());
}

// When it was begun says nothing of when it was made: the call may have waited for its turn.
TEST_F(LaunchTest, a_deletion_waits_until_what_a_slow_call_has_made_shows) {
  for (const double jump : {0.0, 86400.0}) {
    cloud_->latency = seconds(40);
    cloud_->hidden = seconds(30);
    cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
    cloud_->fail("find server", {Kind::permanent});
    const std::string id = add_node();
    auto job = start().launch(id);
    process_->pass(seconds(79));
    cloud_->latency = {};
    process_->run_until_ended(*job);
    ASSERT_THAT(cloud_->servers, SizeIs(1));
    cloud_->servers.front().name = "np-of-a-lost-answer";  // its id is not known
    installation_.clock.shift_wall_clock(jump);
    job = process_->reclaim(id);
    process_->run_until_ended(*job);
    EXPECT_EQ(job->failure(), "");
    EXPECT_THAT(cloud_->servers, IsEmpty());
  }
}

TEST_F(LaunchTest, recorded_resources_are_deleted_although_the_listing_fails) {
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
  cloud_->fail("find server", {Kind::permanent});
  const std::string id = add_node();
  auto job = start().launch(id);
  process_->run_until_ended(*job);
  ASSERT_TRUE(LaunchJournal::parse(node(id).launch_journal).is_uncertain());
  cloud_->fail("list", {Kind::transient});
  job = process_->reclaim(id);
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "list went wrong");
  EXPECT_EQ(cloud_->count("remove"), 1U);
}

TEST_F(LaunchTest, a_rollback_searches_for_resources_of_unknown_outcome) {
  config_->launch_timeout_ = minutes(2);
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
  cloud_->fail("find server", {Kind::transient}, 1000);
  const Node node = launch_new();
  EXPECT_EQ(cloud_->count("list"), 1U);
  EXPECT_THAT(cloud_->servers, SizeIs(1));
}

TEST_F(LaunchTest, a_rollback_continues_when_the_machine_is_already_gone) {
  config_->launch_timeout_ = minutes(2);
  cloud_->fail("make server", {.kind = Kind::unknown_outcome, .is_done = true});
  cloud_->fail("find server", {Kind::transient}, 1000);
  cloud_->fail("remove", {Kind::not_found});
  const Node node = launch_new();
  EXPECT_EQ(cloud_->count("list"), 1U);
  EXPECT_THAT(cloud_->servers, SizeIs(1));
}

// --- what must not be lost

TEST_F(LaunchTest, the_id_of_what_failed_to_be_made_is_kept) {
  config_->launch_retries_ = 1;
  cloud_->fail("make disk", {.kind = Kind::failed, .is_done = true});
  const std::string id = add_node();
  std::vector<std::string> saved;
  const auto job =
      start().launch(id, [&](const Node& node) { saved.push_back(node.external_id_text()); });
  process_->run_until_ended(*job);
  EXPECT_THAT(saved, ElementsAre("", "np" + id)) << "the intent, and the end";
  EXPECT_EQ(job->failure(), "make disk went wrong");
}

TEST_F(LaunchTest, the_machine_s_id_is_saved_with_the_result_of_its_step) {
  std::vector<std::string> saved;
  const std::string id = add_node();
  const auto job = start().launch(id, [&](const Node& node) {
    const LaunchJournal journal = LaunchJournal::parse(node.launch_journal);
    const auto disk = journal.steps.find("disk");
    const bool made = disk != journal.steps.end() && disk->second.result;
    EXPECT_EQ(node.external_id_text().empty(), !made && !node.launch_journal.is_null());
  });
  process_->run_until_ended(*job);
  job->result();
}

// --- addresses and host keys

TEST_F(LaunchTest, a_machine_without_an_address_has_failed) {
  cloud_->described.interface_ip = "";
  EXPECT_THAT(launch_error().what(), HasSubstr("no usable address"));
  EXPECT_EQ(cloud_->count("make server"), 3U);
  config_->label("small").host_key_checking = false;
  EXPECT_THAT(launch_error().what(), HasSubstr("no usable address")) << "it is unreachable";
}

TEST_F(LaunchTest, between_two_attempts_the_record_names_no_machine) {
  scan_ = scan_network;
  std::vector<Node> between;
  const std::string id = add_node();
  const auto job = start().launch(id, [&](const Node& node) {
    const LaunchJournal journal = LaunchJournal::parse(node.launch_journal);
    if (journal.attempt == 2 && !journal.undo && node.external_id.is_null()) {
      between.push_back(node);
    }
  });
  process_->run_until_ended(*job);
  ASSERT_FALSE(between.empty());
  const Node& node = between.front();
  EXPECT_EQ(node.interface_ip.value_or(""), "");
  EXPECT_EQ(node.public_ipv4.value_or(""), "");
  EXPECT_EQ(node.slot, std::nullopt);
  EXPECT_TRUE(node.driver_data.is_null());
}

TEST_F(LaunchTest, a_machine_that_shows_no_host_keys_has_failed) {
  scan_ = scan_network;
  const test_support::ReservedPort unused_port;
  cloud_->described.interface_ip = unused_port.number() == 0 ? "" : test_support::kLoopback;
  config_->label("small").access.connection_port = unused_port.number();
  config_->launch_retries_ = 1;
  const LaunchError error = launch_error();
  EXPECT_THAT(error.what(), HasSubstr("key scan: "));
  EXPECT_EQ(error.kind(), LaunchError::Kind::unreachable);
  EXPECT_THAT(cloud_->calls, testing::Contains(testing::StartsWith("scan failed np")));
  EXPECT_EQ(cloud_->count("console"), 0U) << "the label does not ask for it";
  EXPECT_TRUE(has_logged("Host key scan failed: 0 key(s), "));
  const std::string id = installation_.nodes().front();
  EXPECT_EQ(node(id).interface_ip, test_support::kLoopback) << "to be looked at by a person";

  config_->label("small").console_log = true;
  EXPECT_THAT(launch_error().what(), HasSubstr("key scan: "));
  EXPECT_EQ(cloud_->count("console"), 1U);
  EXPECT_TRUE(has_logged("console of np"));

  cloud_->fail("console", {Kind::transient});
  EXPECT_THAT(launch_error().what(), HasSubstr("key scan: ")) << "and nothing else";
}

TEST_F(LaunchTest, without_host_key_checking_the_machine_is_not_contacted) {
  scan_ = scan_network;
  const test_support::ReservedPort unused_port;
  cloud_->described.interface_ip = test_support::kLoopback;
  config_->label("small").access.connection_port = unused_port.number();
  config_->label("small").host_key_checking = false;
  const Node node = launch_new();
  EXPECT_EQ(node.state, NodeState::ready);
  EXPECT_THAT(node.host_keys, IsEmpty());
}

// --- taking back

TEST_F(LaunchTest, reclaiming_a_node_deletes_its_machine) {
  const Node node = launch_new();
  const auto job = process_->reclaim(node.id);
  process_->run_until_ended(*job);
  job->result();
  EXPECT_THAT(cloud_->servers, IsEmpty());
  EXPECT_THAT(installation_.nodes(), IsEmpty());
  EXPECT_EQ(cloud_->count("list"), 0U) << "nothing is uncertain";
}

TEST_F(LaunchTest, only_a_launch_that_has_succeeded_proves_that_there_is_no_public_address) {
  cloud_->described.private_ipv4 = "10.0.0.1";
  const auto is_known_private = [this](const std::function<void(Node&)>& change) {
    Node node = launch_new();
    change(node);
    installation_.write(node);
    const auto job = process_->reclaim(node.id);
    process_->run_until_ended(*job);
    job->result();
    return cloud_->was_known_private;
  };
  EXPECT_TRUE(is_known_private([](Node&) {}));
  EXPECT_FALSE(is_known_private([](Node& node) { node.public_ipv4 = "192.0.2.1"; }));
  EXPECT_FALSE(is_known_private([](Node& node) { node.private_ipv4 = {}; }));
  EXPECT_FALSE(
      is_known_private([](Node& node) { node.launch_journal = LaunchJournal().to_json(); }));
}

TEST_F(LaunchTest, a_machine_that_is_not_found_yet_is_deleted_after_the_consistency_delay) {
  const Node node = launch_new();
  cloud_->fail("remove", {Kind::not_found});
  const auto job = process_->reclaim(node.id);
  const auto time = time_for([&] { process_->run_until_ended(*job); });
  job->result();
  EXPECT_EQ(time, seconds(30));
  EXPECT_THAT(cloud_->servers, IsEmpty());
}

TEST_F(LaunchTest, partly_created_resources_are_reclaimed_whether_recorded_or_not) {
  Node node = this->node(add_node());
  LaunchJournal journal;
  journal.steps["disk"] = {installation_.clock.wall_seconds() - 10, "disk-1"};
  journal.steps["server"] = {installation_.clock.wall_seconds() - 10, std::nullopt};
  node.launch_journal = journal.to_json();
  node.external_id = model::json_string("np" + node.id);
  installation_.write(node);
  const Metadata ours = owner_tags(node);
  cloud_->disks = {
      {.id = "disk-1", .name = "np" + node.id, .metadata = ours, .image = {}, .shows_at = {}}};
  cloud_->servers = {
      {.id = "late",
       .name = "np-late",
       .metadata = ours,
       .image = {},
       .shows_at = installation_.clock.now() + seconds(25)},
      {.id = "other", .name = "np-other", .metadata = {}, .image = {}, .shows_at = {}}};
  const auto job = start().reclaim(node.id);
  const auto time = time_for([&] { process_->run_until_ended(*job); });
  job->result();
  EXPECT_EQ(time, seconds(30)) << "by then whatever was made would show";
  EXPECT_THAT(cloud_->disks, IsEmpty());
  EXPECT_THAT(cloud_->server_ids(), ElementsAre("other"));
}

TEST_F(LaunchTest, resources_of_unknown_outcome_are_reclaimed_with_the_node) {
  Node node = this->node(add_node());
  LaunchJournal journal;
  journal.steps["address"] = {installation_.clock.wall_seconds() - 10, std::nullopt};
  node.launch_journal = journal.to_json();
  installation_.write(node);
  const Metadata ours = owner_tags(node);
  Metadata others = ours;
  others.insert_or_assign("nodepool_installation_id", "there");
  cloud_->others = {{"address", "a1", ours}, {"address", "a2", others}, {"address", "a3", {}}};
  cloud_->fail("remove address a1", {Kind::transient});
  auto job = start().reclaim(node.id);
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "remove address a1 went wrong");
  job = process_->reclaim(node.id);
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "");
  EXPECT_THAT(cloud_->others, ElementsAre(testing::Field(&Resource::id, "a2"),
                                          testing::Field(&Resource::id, "a3")));
}

TEST_F(LaunchTest, an_unreadable_journal_does_not_prevent_reclaiming) {
  Node node = this->node(add_node());
  node.launch_journal = Json{R"({"steps": 7})"};
  installation_.write(node);
  cloud_->servers = {
      {.id = "s1", .name = "np-1", .metadata = owner_tags(node), .image = {}, .shows_at = {}}};
  auto job = start().launch(node.id);
  process_->run_until_ended(*job);
  EXPECT_THAT(job->failure(), HasSubstr("invalid 'launch_journal'"));
  job = process_->reclaim(node.id);
  process_->run_until_ended(*job);
  job->result();
  EXPECT_THAT(cloud_->servers, IsEmpty());
}

TEST_F(LaunchTest, a_node_without_a_machine_needs_no_cloud) {
  const std::string id = add_node();
  const auto job = start().reclaim(id);
  process_->run_until_ended(*job);
  job->result();
  EXPECT_THAT(cloud_->calls, IsEmpty());
}

TEST_F(LaunchTest, a_deletion_that_fails_is_reported_and_one_that_hangs_times_out) {
  const Node node = launch_new();
  cloud_->fail("remove", {Kind::transient});
  auto job = process_->reclaim(node.id);
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "remove went wrong");
  EXPECT_EQ(this->node(node.id).state, NodeState::deleting);

  cloud_->latency = minutes(30);
  job = process_->reclaim(node.id);
  const auto time = time_for([&] { process_->run_until_ended(*job); });
  EXPECT_EQ(time, minutes(10));
  EXPECT_THAT(job->failure(), HasSubstr("deleting the machine"));
}

}  // namespace
}  // namespace nodepool::driver
