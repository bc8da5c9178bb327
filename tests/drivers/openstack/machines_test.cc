#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include "driver/statemachine/launch_recorder.h"
#include "tests/drivers/openstack/adapter_fixture.h"

namespace nodepool::drivers::openstack {
namespace {

using driver::CloudError;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Kind = CloudError::Kind;
using Json = StandIn::Json;

// Returns when the cloud has been asked twice for a server itself, or all tasks have ended.
async::Task<> wait_for_questions(async::Clock& clock, async::TaskScope& tasks, StandIn& cloud) {
  while (!tasks.empty() && cloud.count("GET /compute/servers/ID") < 2) {
    co_await clock.sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(AdapterTest, a_machine_is_made_and_described) {
  const driver::Instance instance = create();
  ASSERT_THAT(cloud_.servers, SizeIs(1));
  const std::string id = cloud_.servers.begin()->first;
  EXPECT_EQ(instance.external_id.text, "\"" + id + "\"");
  EXPECT_EQ(launch_.node().external_id, instance.external_id);
  EXPECT_EQ(cloud_.servers[id]["addresses"]["private"][0]["addr"], *instance.private_ipv4);
  EXPECT_EQ(instance.public_ipv4, "");
  EXPECT_EQ(instance.public_ipv6, "");
  EXPECT_EQ(instance.cloud, "one");
  EXPECT_EQ(instance.region, "north");
  EXPECT_EQ(instance.az, "az1");
  EXPECT_EQ(instance.host_id, "host-1");
  EXPECT_EQ(instance.resources, driver::Resources({{"instances", 1}, {"cores", 1}, {"ram", 2048}}));
  const Json server = Json::parse(cloud_.bodies("POST /compute/servers").at(0))["server"];
  EXPECT_EQ(server["name"], "np0000000001");
  EXPECT_EQ(server["imageRef"], image_);
  EXPECT_EQ(server["flavorRef"], "id-small");
  EXPECT_EQ(server["config_drive"], true);
  EXPECT_EQ(server["security_groups"], Json::parse(R"([{"name": "ssh"}])"));
  EXPECT_EQ(server["metadata"]["groups"], "os,jammy,small");
  EXPECT_EQ(server["metadata"]["nodepool_node_id"], "0000000001");
  EXPECT_FALSE(server.contains("networks"));
  EXPECT_THAT(log_, Not(HasSubstr("secret")));
}

TEST_F(AdapterTest, a_launch_knows_its_calls_with_their_ids_and_nothing_of_what_was_sent) {
  const auto recorder = std::make_shared<driver::LaunchRecorder>(clock_);
  cloud_.next_status = "ERROR";
  cloud_.next_fault = "No valid host was found.";
  std::string failure;
  const auto launch = [](async::Task<driver::Instance> creating,
                         std::shared_ptr<async::CallTracer> witness,
                         std::string& failure) -> async::Task<> {
    async::set_tracer(co_await boost::asio::this_coro::executor, witness);
    try {
      co_await std::move(creating);
    } catch (const CloudError& error) {
      failure = error.what();
    }
  };
  async::TaskScope scope(runtime_, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  scope.spawn("launch",
              launch(create_with(launch_, spec("0000000001", "special")), recorder, failure));
  loop_.run(scope.join());
  driver::LaunchTrace account = recorder->take();
  account.failure = failure;
  EXPECT_THAT(failure, HasSubstr("No valid host was found."));
  const auto made = std::ranges::find(account.events, "POST", &driver::TraceEvent::method);
  ASSERT_NE(made, account.events.end());
  EXPECT_EQ(made->what, "compute: create server");
  EXPECT_THAT(made->path, HasSubstr("/servers"));
  EXPECT_EQ(made->status, 202);
  EXPECT_THAT(made->id, testing::StartsWith("req-"));
  EXPECT_THAT(account.events, testing::Contains(testing::Field(&driver::TraceEvent::kind,
                                                               driver::TraceEvent::Kind::poll)))
      << "the list of servers is asked for once for all";
  const std::string data = to_json(account);
  for (const char* sent : {"secret", "aGVsbG8=", "hello", "oken", "for zuul"}) {
    EXPECT_THAT(data, Not(HasSubstr(sent)));
  }
}

TEST_F(AdapterTest, a_machine_with_all_options_boots_from_a_volume) {
  const driver::Instance instance = create("special");
  const Json server = Json::parse(cloud_.bodies("POST /compute/servers").at(0))["server"];
  EXPECT_EQ(server["imageRef"], "");
  EXPECT_EQ(server["block_device_mapping_v2"], Json::parse(R"([{"boot_index": "0",
      "delete_on_termination": true, "destination_type": "volume", "uuid": ")" +
                                                           image_ + R"(",
      "source_type": "image", "volume_size": "20"}])"));
  EXPECT_EQ(server["networks"], Json::parse(R"([{"uuid": "id-net"}])"));
  EXPECT_EQ(server["key_name"], "k");
  EXPECT_EQ(server["user_data"], "aGVsbG8=");
  EXPECT_EQ(server["metadata"]["a"], "b");
  EXPECT_EQ(server["metadata"]["r"], "for zuul");
  const driver::Resources need(
      {{"instances", 1}, {"cores", 4}, {"ram", 8192}, {"volumes", 1}, {"volume-gb", 20}});
  EXPECT_EQ(instance.resources, need);
  EXPECT_EQ(describe().labels.at({"main", "special"}).need, need);
}

TEST_F(AdapterTest, a_machine_is_kept_though_its_volumes_cannot_be_read) {
  cloud_.fail("GET /volume/volumes/detail", {400});
  const driver::Instance instance = create("special");
  EXPECT_TRUE(instance.resources.empty()) << "the node's record has what its label needs";
  EXPECT_THAT(cloud_.servers, SizeIs(1));
  EXPECT_EQ(cloud_.count("GET /volume/volumes/detail"), 1);
  const driver::MachineList list = loop_.run(adapter().list());
  EXPECT_EQ(list.machines.at(0).resources.amount("volume-gb"), 20);
}

TEST_F(AdapterTest, machines_are_listed_with_the_last_known_volumes_during_an_outage_of_theirs) {
  poll_policy_.poll = std::chrono::milliseconds(0);  // no listing is new enough for another call
  const std::string id = cloud_.add_server("s", "id-small", Json::object());
  cloud_.volumes.push_back({{"id", "volume"}, {"size", 20}});
  cloud_.servers[id]["os-extended-volumes:volumes_attached"] = Json::array({{{"id", "volume"}}});
  const auto volume_gb = [this] {
    return loop_.run(adapter().list()).machines.at(0).resources.amount("volume-gb");
  };
  EXPECT_EQ(volume_gb(), 20);
  EXPECT_TRUE(describe().limits.contains("volume-gb"));
  cloud_.fail("GET /volume/volumes/detail", {404}, kProxyPage);  // without a retry
  cloud_.fail("GET /volume/limits", {404}, kProxyPage);
  const int before = cloud_.count("GET /volume/volumes/detail");
  EXPECT_EQ(volume_gb(), 20);
  const int calls = cloud_.count("GET /volume/volumes/detail");
  EXPECT_EQ(calls, before + 1);
  EXPECT_EQ(volume_gb(), 20);
  EXPECT_EQ(cloud_.count("GET /volume/volumes/detail"), calls) << "it is not asked at once";
  EXPECT_TRUE(describe().limits.contains("volume-gb"));
}

TEST_F(AdapterTest, machines_are_listed_though_networks_were_never_read) {
  cloud_.add_server("s", "id-small", Json::object());
  cloud_.fail("GET /network/networks", {404}, kProxyPage);
  EXPECT_THAT(loop_.run(adapter().list()).machines, SizeIs(1));
}

TEST_F(AdapterTest, a_hundred_machines_cost_a_hundred_calls_and_some_shared_lists) {
  constexpr int kMachines = 100;
  cloud_.room = kMachines;
  poll_policy_.poll = std::chrono::milliseconds(250);
  std::vector<std::unique_ptr<Launch>> launches;
  int made = 0;
  async::TaskScope scope(runtime_, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  const auto launch_one = [](async::Task<driver::Instance> creating, int& made) -> async::Task<> {
    co_await std::move(creating);
    ++made;
  };
  const auto start = clock_.now();
  for (int i = 0; i < kMachines; ++i) {
    launches.push_back(std::make_unique<Launch>(std::to_string(i)));
    scope.spawn("launch",
                launch_one(create_with(*launches.back(), spec(std::to_string(i), "small")), made));
  }
  loop_.run(scope.join());
  const auto rounds = (clock_.now() - start) / poll_policy_.poll;
  EXPECT_EQ(made, kMachines);
  EXPECT_THAT(cloud_.servers, SizeIs(kMachines));
  EXPECT_EQ(cloud_.count("POST /compute/servers"), kMachines);
  EXPECT_LE(cloud_.count("GET /compute/servers/detail"), rounds + 2);
  EXPECT_EQ(cloud_.count("GET /compute/flavors/detail"), 1);
  EXPECT_EQ(cloud_.count("GET /network/networks"), 1);
  EXPECT_EQ(cloud_.count("GET /network/subnets"), 1);
  EXPECT_EQ(cloud_.count("GET /image/images"), 1);
  EXPECT_EQ(cloud_.count_all("POST /identity"), 1);
  const int lists = cloud_.count("GET /compute/servers/detail");
  EXPECT_EQ(cloud_.count_all(""), kMachines + lists + 5);
}

TEST_F(AdapterTest, a_machine_is_deleted_and_again) {
  const driver::Instance instance = create();
  loop_.run(remove(instance.external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());
  loop_.run(remove(instance.external_id));
  EXPECT_EQ(cloud_.count("DELETE /compute/servers/ID"), 2);
  EXPECT_EQ(failure_of(remove(model::Json{"{\"a\": 1}"}))->kind(), Kind::permanent);
}

TEST_F(AdapterTest, without_a_token_a_machine_is_not_taken_for_missing) {
  for (const int status : {404, 403, 400}) {
    for (const char* answer : {kProxyPage, "no such page"}) {
      make_adapter();  // without a token of before
      cloud_.fail("POST /identity/auth/tokens", {status}, answer);
      const auto error = failure_of(remove(model::Json{"\"id-1\""}));
      ASSERT_TRUE(error) << status;
      EXPECT_EQ(error->kind(), Kind::auth) << status;
      EXPECT_THAT(error->what(),
                  HasSubstr("identity: authenticate: HTTP " + std::to_string(status)));
    }
  }
  make_adapter();
  cloud_.fail("POST /identity/auth/tokens", {503, 503, 503, 503});
  EXPECT_EQ(failure_of(remove(model::Json{"\"id-1\""}))->kind(), Kind::transient);
  EXPECT_EQ(cloud_.count("DELETE /compute/servers/ID"), 0);
}

TEST_F(AdapterTest, the_page_of_a_proxy_does_not_end_a_deletion) {
  const driver::Instance instance = create();
  launch_.node().launch_journal = {};  // what the launch has attached is unknown
  for (const char* call : {"GET /network/floatingips", "DELETE /compute/servers/ID"}) {
    for (const int status : {404, 403}) {
      cloud_.fail(call, {status}, kProxyPage);
      const auto error = failure_of(remove(instance.external_id));
      ASSERT_TRUE(error) << call << status;
      EXPECT_EQ(error->kind(), Kind::transient) << call << status;
    }
  }
  EXPECT_THAT(cloud_.servers, SizeIs(1));
  loop_.run(remove(instance.external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(AdapterTest, a_quota_error_is_reported_as_such) {
  cloud_.fail("POST /compute/servers", {403},
              "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances");
  EXPECT_EQ(failure().kind(), Kind::quota);
  EXPECT_TRUE(launch_.node().external_id.is_null());
}

TEST_F(AdapterTest, a_machine_that_is_forbidden_now_may_be_allowed_to_the_next_attempt) {
  cloud_.fail("POST /compute/servers", {403}, "Policy does not allow it");
  EXPECT_EQ(failure().kind(), Kind::failed);
  EXPECT_TRUE(launch_.node().external_id.is_null());
}

TEST_F(AdapterTest, a_machine_in_error_is_known_so_that_it_can_be_deleted) {
  cloud_.next_status = "ERROR";
  cloud_.next_fault = "VolumeSizeExceedsAvailableQuota: Requested volume exceeds allowed quota";
  EXPECT_EQ(failure().kind(), Kind::quota);
  ASSERT_THAT(cloud_.servers, SizeIs(1));
  EXPECT_EQ(launch_.node().external_id.text, "\"" + cloud_.servers.begin()->first + "\"");
  loop_.run(remove(launch_.node().external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());

  launch_.journal = {};
  cloud_.next_fault = "No valid host was found. There are not enough hosts available.";
  const CloudError error = failure();
  EXPECT_EQ(error.kind(), Kind::failed);
  EXPECT_THAT(error.what(), HasSubstr("No valid host"));
}

TEST_F(AdapterTest, cached_values_are_queried_again_after_a_rejection) {
  create();
  launch_.journal = {};
  cloud_.fail("POST /compute/servers", {400}, "Invalid imageRef");
  EXPECT_EQ(failure().kind(), Kind::failed);
  create();
  EXPECT_EQ(cloud_.count("GET /compute/flavors/detail"), 2);
  EXPECT_EQ(cloud_.count("GET /network/networks"), 2);
}

TEST_F(AdapterTest, a_lost_answer_does_not_make_a_second_machine) {
  cloud_.fail("POST /compute/servers", {-1});
  create();
  EXPECT_THAT(cloud_.servers, SizeIs(1));
  EXPECT_EQ(cloud_.count("POST /compute/servers"), 1);
  EXPECT_EQ(launch_.node().external_id.text, "\"" + cloud_.servers.begin()->first + "\"");
}

TEST_F(AdapterTest, an_answer_that_cannot_be_read_does_not_make_a_second_machine) {
  cloud_.fail("POST /compute/servers", {-2});
  create();
  EXPECT_THAT(cloud_.servers, SizeIs(1));
  EXPECT_EQ(cloud_.count("POST /compute/servers"), 1);
  EXPECT_EQ(launch_.node().external_id.text, "\"" + cloud_.servers.begin()->first + "\"");
}

TEST_F(AdapterTest, servers_that_cannot_be_listed_may_be_there_all_the_same) {
  poll_policy_.consistency_delay = std::chrono::milliseconds(1);
  cloud_.fail("POST /compute/servers", {-1});
  cloud_.fail("GET /compute/servers/detail", {503, 503, 503, 503});  // one look, for the driver
  create();
  EXPECT_THAT(cloud_.servers, SizeIs(1));
  EXPECT_EQ(cloud_.count("POST /compute/servers"), 1);
}

TEST_F(AdapterTest, a_lost_question_is_asked_again_when_nothing_has_shown_up) {
  for (const int loss : {0, 503}) {
    cloud_.servers.clear();
    launch_.journal = {};
    cloud_.forget_calls();
    cloud_.fail("POST /compute/servers", {loss});
    create();
    EXPECT_THAT(cloud_.servers, SizeIs(1));
    EXPECT_EQ(cloud_.count("POST /compute/servers"), 2);
  }
}

TEST_F(AdapterTest, storms_are_weathered) {
  cloud_.fail("POST /compute/servers", {429, 429});
  cloud_.fail("GET /compute/servers/detail", {503, 500, 0, 502, 504});
  cloud_.fail("GET /compute/flavors/detail", {503});
  const driver::Instance instance = create();
  EXPECT_THAT(cloud_.servers, SizeIs(1));
  cloud_.fail("DELETE /compute/servers/ID", {503});
  cloud_.fail("GET /compute/servers/detail", {503, 503, 503, 503, 503});
  loop_.run(remove(instance.external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(AdapterTest, an_expired_token_is_replaced_once) {
  create();
  cloud_.expire_tokens();
  launch_.journal = {};
  create();
  EXPECT_EQ(cloud_.count_all("POST /identity"), 2);
}

TEST_F(AdapterTest, a_cloud_may_have_no_identity_service) {
  cloud_options_ = "auth_type: http_basic, compute_endpoint_override: '" + cloud_.url() +
                   "/compute/v2.1', image_endpoint_override: '" + cloud_.url() + "/image', ";
  cloud_.credentials = {"authorization", "Basic Y2k6c2VjcmV0"};
  const driver::Instance instance = create();
  EXPECT_THAT(loop_.run(adapter().list()).machines, SizeIs(1));
  loop_.run(remove(instance.external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());
  EXPECT_EQ(cloud_.count_all("POST /identity"), 0);
  cloud_.credentials.reset();
  EXPECT_EQ(failure_of(remove(instance.external_id))->kind(), Kind::auth);
}

TEST_F(AdapterTest, a_token_is_renewed_before_its_end) {
  cloud_.token_life = "0";
  describe();
  EXPECT_GE(cloud_.count_all("POST /identity"), 3);
}

TEST_F(AdapterTest, rejected_credentials_are_reported_as_such) {
  cloud_.password = "changed";
  const CloudError error = failure();
  EXPECT_EQ(error.kind(), Kind::auth);
  EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
}

TEST_F(AdapterTest, error_messages_of_a_cloud_contain_no_secrets) {
  cloud_.fail("POST /identity/auth/tokens", {400}, "REQUEST");
  const auto login = failure_of(adapter().describe(driver::CloudDescription::Purpose::plan));
  ASSERT_TRUE(login);
  EXPECT_THAT(login->what(), HasSubstr(R"("password":"***")"));
  cloud_.fail("GET /compute/limits", {400}, "REQUEST");
  const auto call = failure_of(adapter().describe(driver::CloudDescription::Purpose::plan));
  ASSERT_TRUE(call);
  EXPECT_THAT(call->what(), HasSubstr(R"("x-auth-token", "***")"));
  EXPECT_THAT(call->what(), Not(HasSubstr("token-")));
}

TEST_F(AdapterTest, a_machine_that_vanishes_is_no_reason_to_wait_for_ever) {
  poll_policy_.consistency_delay = std::chrono::milliseconds(10);
  cloud_.servers_answer = R"({"servers": []})";
  cloud_.fail("GET /compute/servers/ID", {404});
  EXPECT_THAT(failure().what(), HasSubstr("disappeared"));
}

TEST_F(AdapterTest, a_machine_that_listings_omit_is_waited_for_while_the_cloud_has_it) {
  poll_policy_.consistency_delay = std::chrono::milliseconds(10);
  cloud_.servers_answer = R"({"servers": []})";  // its cell does not respond
  async::TaskScope scope(runtime_, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  const auto launch = [](async::Task<driver::Instance> creating) -> async::Task<> {
    co_await std::move(creating);
  };
  scope.spawn("launch", launch(create_with(launch_, spec("0000000001", "small"))));
  loop_.run(wait_for_questions(clock_, scope, cloud_));
  cloud_.servers_answer.reset();
  loop_.run(scope.join());
  EXPECT_THAT(cloud_.servers, SizeIs(1));
  EXPECT_GE(cloud_.count("GET /compute/servers/ID"), 2);
}

TEST_F(AdapterTest, a_machine_that_listings_omit_is_deleted_only_when_the_cloud_says_so) {
  poll_policy_.consistency_delay = std::chrono::milliseconds(10);
  const driver::Instance instance = create();
  cloud_.fail("DELETE /compute/servers/ID", {202});  // accepted, and not carried out yet
  cloud_.servers_answer = R"({"servers": []})";      // its cell does not respond
  async::TaskScope scope(runtime_, [](const std::string& name, const std::string& error) {
    ADD_FAILURE() << name << ": " << error;
  });
  scope.spawn("deletion", remove(instance.external_id));
  loop_.run(wait_for_questions(clock_, scope, cloud_));
  EXPECT_FALSE(scope.empty()) << "deleted, though it is there";
  cloud_.servers.begin()->second["status"] = "SOFT_DELETED";
  loop_.run(scope.join());
}

TEST_F(AdapterTest, a_server_that_is_being_deleted_does_not_run) {
  const auto state_of = [this](const Json& status, const Json& task) {
    cloud_.servers.clear();
    const std::string id = cloud_.add_server("s", "id-small", Json::object());
    cloud_.servers[id]["status"] = status;
    cloud_.servers[id]["OS-EXT-STS:task_state"] = task;
    return loop_.run(adapter().list()).machines.at(0);
  };
  poll_policy_.poll = std::chrono::milliseconds(0);
  using State = driver::Machine::State;
  EXPECT_EQ(state_of("ACTIVE", nullptr).state, State::running);
  EXPECT_EQ(state_of("ACTIVE", "powering-off").state, State::running);
  EXPECT_EQ(state_of("SOFT_DELETED", nullptr).state, State::deleted);
  for (const char* status : {"ACTIVE", "BUILD", "ERROR", "SHUTOFF"}) {
    const driver::Machine machine = state_of(status, "deleting");
    EXPECT_EQ(machine.state, State::deleting) << status;
    EXPECT_THAT(machine.explanation, HasSubstr("is being deleted"));
    EXPECT_FALSE(machine.is_there()) << "a leak that needs no other deletion";
  }
  EXPECT_EQ(state_of("ACTIVE", "soft-deleting").state, State::deleting);
}

TEST_F(AdapterTest, a_launch_does_not_wait_for_a_server_that_is_being_deleted) {
  cloud_.next_task = "deleting";
  EXPECT_THAT(failure().what(), HasSubstr("is being deleted"));
}

TEST_F(AdapterTest, a_server_that_is_being_deleted_is_not_adopted) {
  cloud_.fail("POST /compute/servers", {-1});
  cloud_.next_task = "deleting";
  poll_policy_.consistency_delay = std::chrono::milliseconds(1);
  EXPECT_THAT(failure().what(), HasSubstr("is being deleted"));
  EXPECT_EQ(cloud_.count("POST /compute/servers"), 2) << "another one was made";
}

TEST_F(AdapterTest, flavors_and_images_that_are_missing_are_named) {
  EXPECT_THAT(problem("bare"), HasSubstr("`m9`"));
  EXPECT_THAT(problem("none"), HasSubstr("`gone`"));
  EXPECT_EQ(problem("small"), "");
  cloud_.add_image("gone");
  EXPECT_EQ(problem("none"), "");
}

TEST_F(AdapterTest, lists_are_read_page_by_page) {
  for (int i = 0; i < 7; ++i) cloud_.add_server("s", "id-small", Json::object());
  cloud_.page = 3;
  EXPECT_THAT(loop_.run(adapter().list()).machines, SizeIs(7));
  EXPECT_EQ(cloud_.count("GET /compute/servers/detail"), 3);
}

TEST_F(AdapterTest, volumes_are_listed_once_for_all_servers) {
  poll_policy_.poll = std::chrono::milliseconds(0);  // no listing is new enough for another call
  for (int i = 0; i < 30; ++i) {
    const std::string id = cloud_.add_server("s", "id-small", Json::object());
    cloud_.volumes.push_back({{"id", "volume of " + id}, {"size", 20}});
    cloud_.servers[id]["os-extended-volumes:volumes_attached"] =
        Json::array({{{"id", "volume of " + id}}});
  }
  const driver::MachineList list = loop_.run(adapter().list());
  EXPECT_THAT(list.machines, SizeIs(30));
  const driver::Resources taken(
      {{"instances", 1}, {"cores", 1}, {"ram", 2048}, {"volumes", 1}, {"volume-gb", 20}});
  EXPECT_THAT(list.machines, testing::Each(testing::Field(&driver::Machine::resources, taken)));
  EXPECT_EQ(cloud_.count("GET /volume/volumes/detail"), 1);
  EXPECT_EQ(cloud_.count("GET /compute/flavors/detail"), 1);
}

TEST_F(AdapterTest, without_volumes_the_volume_service_is_not_asked) {
  cloud_.add_server("s", "id-small", Json::object());
  loop_.run(adapter().list());
  EXPECT_EQ(cloud_.count("GET /volume/volumes/detail"), 0);
}

TEST_F(AdapterTest, pages_in_a_circle_are_an_error) {
  cloud_.add_server("s", "id-small", Json::object());
  cloud_.endless_pages = true;
  EXPECT_THAT(failure_of(adapter().list())->what(), HasSubstr("no last page"));
}

TEST_F(AdapterTest, a_list_has_a_limit_for_all_its_pages_together) {
  for (int i = 0; i < 6; ++i) cloud_.add_server("s", "id-small", Json::object());
  cloud_.page = 1;
  cloud_.page_padding = std::size_t{60} << 20;
  EXPECT_THAT(failure_of(adapter().list())->what(),
              HasSubstr("compute: list servers: the list is larger than the limit of 256 MiB"));
  EXPECT_EQ(cloud_.count("GET /compute/servers/detail"), 5);
}

TEST_F(AdapterTest, answers_of_the_wrong_shape_are_errors_that_name_the_call) {
  poll_policy_.poll = std::chrono::milliseconds(0);
  for (const char* answer :
       {"", "[]", "nonsense", R"({"servers": 5})", R"({"servers": [5]})", R"({"servers": [{}]})",
        R"({"servers": [{"id": 1, "status": "ACTIVE"}]})",
        R"({"servers": [{"id": "a", "status": "ACTIVE", "addresses": {"n": [{}]}}]})"}) {
    cloud_.servers_answer = answer;
    const auto error = failure_of(adapter().list());
    ASSERT_TRUE(error) << answer;
    EXPECT_EQ(error->kind(), Kind::failed) << answer;
    EXPECT_THAT(error->what(), HasSubstr("compute: list servers")) << answer;
  }
}

TEST_F(AdapterTest, a_removal_that_the_cloud_gives_up_fails_at_once) {
  const driver::Instance instance = create();
  cloud_.failing_deletions = 1;
  const auto error = failure_of(remove(instance.external_id));
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr(": the host does not answer"));
  loop_.run(remove(instance.external_id));
  EXPECT_THAT(cloud_.servers, IsEmpty());
}

TEST_F(AdapterTest, the_console_can_be_read) {
  EXPECT_EQ(loop_.run(adapter().diagnose(model::Json{"\"id-1\""}, true)), "login:");
}

}  // namespace
}  // namespace nodepool::drivers::openstack
