#include "driver/simple/simple_machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <thread>

#include "async/event_loop.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "tests/support/virtual_time.h"

namespace nodepool::driver {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = Machine::State;

// A cloud as a test wants it. Each call begins with what the test has planned for it.
class ScriptedCloud final : public SimpleAdapter {
 public:
  std::string create_instance(const CreateSpec& spec) override {
    call("create " + spec.node_id);
    Machine instance;
    instance.external_id = model::json_string("m-" + spec.node_id);
    instance.metadata = spec.metadata;
    instance.resources = Resources({{"instances", 1}, {"cores", 2}});
    if (shows_new_machines) machines.push_back(instance);
    return instance.external_id.string_value();
  }

  void delete_instance(const std::string& id) override {
    call("delete " + id);
    if (std::ranges::find(machines, model::json_string(id), &Machine::external_id) ==
        machines.end()) {
      throw CloudError(CloudError::Kind::not_found, "no machine " + id);
    }
  }

  std::vector<Machine> list_instances() override {
    call("list");
    return machines;
  }

  Limits quota_limits() override { return {{"instances", 7}}; }

  Resources quota_for_label(const std::string& pool, const std::string& label) override {
    calls.push_back("need " + label);
    if (label == "odd") throw CloudError(CloudError::Kind::permanent, "no such type");
    return Resources({{"instances", 1}, {"cores", pool == "main" ? 2.0 : 4.0}});
  }

  std::optional<std::string> label_problem(const std::string& /*pool*/,
                                           const std::string& label) override {
    return label == "bare" ? std::optional<std::string>("no image") : std::nullopt;
  }

  std::size_t listings() const {
    return static_cast<std::size_t>(std::ranges::count(calls, "list"));
  }

  Machine& machine(const std::string& id) {
    return *std::ranges::find(machines, model::json_string(id), &Machine::external_id);
  }

  // A test looks at these, and changes them, while no call is under way.
  std::vector<Machine> machines;
  std::vector<std::string> calls;
  std::function<void(const std::string& call)> before_call = [](const std::string&) {};
  bool shows_new_machines = true;

 private:
  void call(const std::string& what) {
    calls.push_back(what);
    before_call(what);
  }
};

// A provider "sky" with a pool "main".
class SkyConfig final : public StateMachineConfig {
 public:
  SkyConfig() : StateMachineConfig({.name = "sky"}) {
    PoolConfig pool;
    pool.name = "main";
    pool.labels = {"small", "bare", "built", "odd"};
    for (const std::string& label : pool.labels) machine_pools_["main"].labels[label];
    machine_pools_["main"].labels["built"].diskimage = "trixie";
    pools_.emplace(pool.name, pool);
  }
};

// An attempt without a record.
class OneAttempt final : public LaunchSteps {
 public:
  Task<std::string> step(std::string name, Make make, Find find) override {
    steps.push_back(name);
    if (was_interrupted) {
      const std::optional<std::string> found = co_await find();
      if (found) co_return *found;
    }
    co_return co_await make();
  }
  void set_external_id(model::Json id) override { external_id = std::move(id); }
  void enter(std::string /*state*/) override {}

  bool was_interrupted = false;  // somebody got as far as beginning the step before
  std::vector<std::string> steps;
  model::Json external_id;
};

class SimpleMachinesTest : public testing::Test {
 protected:
  void SetUp() override {
    run(machines_.start([] {}));
  }
  void TearDown() override {
    tasks_.cancel();
    settle();
    loop_.run(machines_.stop());
  }

  static CreateSpec spec(const std::string& node_id) {
    CreateSpec spec;
    spec.node_id = node_id;
    spec.pool = "main";
    spec.label = "small";
    spec.metadata = {{std::string(kNodeIdKey), node_id}, {std::string(kProviderNameKey), "sky"}};
    return spec;
  }

  // Runs what can run without time passing, on the loop and on the threads.
  void settle() {
    while (loop_.poll() || !threads_.idle()) std::this_thread::yield();
  }

  void pass(async::Duration duration) {
    test_support::pass(clock_, duration, [this] { settle(); });
  }

  // Runs a task that ends without time passing.
  void run(Task<> task) {
    async::TaskScope scope(
        runtime_, [](const std::string&, const std::string& error) { ADD_FAILURE() << error; });
    scope.spawn("test", std::move(task));
    settle();
    ASSERT_TRUE(scope.empty());
  }

  OneAttempt& begin_create(const std::string& node_id, bool was_interrupted = false) {
    OneAttempt& attempt = attempts_.emplace_back();
    attempt.was_interrupted = was_interrupted;
    tasks_.spawn("create", create(node_id, attempt));
    settle();
    return attempt;
  }

  Task<> create(std::string node_id, OneAttempt& attempt) {
    try {
      CreateSpec wanted = spec(node_id);
      wanted.expected = boot_times_.expectation();
      Instance instance = co_await machines_.create(std::move(wanted), attempt);
      made_.push_back(std::move(instance));
    } catch (const CloudError& error) {
      failures_.emplace_back(error.what());
    }
  }

  Task<> remove(std::string id) {
    OneAttempt attempt;
    co_await machines_.remove(model::json_string(id), attempt);
    removed_ = true;
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  std::vector<std::string> log_;
  telemetry::Logger logger_{
      telemetry::Log::to_consumer([this](telemetry::LogLevel, std::string_view,
                                         std::string_view message) { log_.emplace_back(message); }),
      "nodepool"};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  model::NodeTable nodes_{runtime_, store_, logger_};
  model::ImageTable images_{runtime_, store_, logger_};
  async::ThreadPool threads_{2, "test"};
  std::shared_ptr<ScriptedCloud> cloud_ = std::make_shared<ScriptedCloud>();
  SimpleMachines machines_{{runtime_, store_, nodes_, images_, threads_, logger_},
                           std::make_shared<SkyConfig>(),
                           cloud_,
                           {}};
  BootTimes boot_times_;
  std::deque<OneAttempt> attempts_;
  std::vector<Instance> made_;
  std::vector<std::string> failures_;
  bool removed_ = false;
  async::TaskScope tasks_{runtime_, [this](const std::string&, const std::string& error) {
                            failures_.push_back(error);
                          }};
};

TEST_F(SimpleMachinesTest, a_machine_is_made_in_one_step_and_waited_for) {
  const OneAttempt& attempt = begin_create("1");
  EXPECT_THAT(attempt.steps, ElementsAre("instance"));
  EXPECT_EQ(attempt.external_id, model::json_string("m-1"));
  pass(seconds(10));
  EXPECT_THAT(made_, IsEmpty());
  cloud_->machine("m-1").state = State::running;
  cloud_->machine("m-1").interface_ip = "192.0.2.1";
  pass(seconds(4));
  ASSERT_THAT(made_, SizeIs(1));
  EXPECT_EQ(made_[0].interface_ip, "192.0.2.1");
  EXPECT_EQ(made_[0].external_id, model::json_string("m-1"));
}

TEST_F(SimpleMachinesTest, machines_that_are_waited_for_share_listings) {
  for (int i = 0; i < 10; ++i) begin_create(std::to_string(i));
  cloud_->calls.clear();
  pass(seconds(20));
  EXPECT_GE(cloud_->listings(), 5U);
  EXPECT_LE(cloud_->listings(), 10U);  // one every two seconds
  for (Machine& machine : cloud_->machines) machine.state = State::running;
  pass(seconds(4));
  EXPECT_THAT(made_, SizeIs(10));
}

TEST_F(SimpleMachinesTest, what_an_interrupted_step_made_is_found_by_its_metadata) {
  cloud_->before_call = [](const std::string& call) {
    if (call.starts_with("create")) throw CloudError(CloudError::Kind::quota, "no");
  };
  const auto add = [this](const std::string& id, Metadata metadata, State state) {
    Machine instance;
    instance.external_id = model::json_string(id);
    instance.metadata = std::move(metadata);
    instance.state = state;
    cloud_->machines.push_back(std::move(instance));
  };
  const Metadata ours = spec("1").metadata;
  add("of-another-node", spec("2").metadata, State::running);
  add("of-another-provider",
      {{std::string(kNodeIdKey), "1"}, {std::string(kProviderNameKey), "sea"}}, State::running);
  add("of-nobody", {}, State::running);
  add("gone", ours, State::deleted);
  begin_create("1", /*was_interrupted=*/true);
  EXPECT_THAT(failures_, ElementsAre("no"));  // not there, and made again
  add("ours", ours, State::running);
  pass(milliseconds(1));  // no two listings are of the same moment
  const OneAttempt& second = begin_create("1", /*was_interrupted=*/true);
  pass(seconds(4));
  ASSERT_THAT(made_, SizeIs(1));
  EXPECT_EQ(made_[0].external_id, model::json_string("ours"));
  EXPECT_EQ(second.external_id, model::json_string("ours"));
}

TEST_F(SimpleMachinesTest, a_machine_that_failed_says_so) {
  begin_create("1");
  cloud_->machine("m-1").state = State::failed;
  cloud_->machine("m-1").explanation = "no disk";
  pass(seconds(4));
  EXPECT_THAT(failures_, ElementsAre("instance m-1 failed: no disk"));
}

TEST_F(SimpleMachinesTest, a_machine_that_vanishes_has_failed) {
  begin_create("1");
  pass(seconds(4));
  cloud_->machines.clear();
  pass(seconds(28));
  EXPECT_THAT(failures_, IsEmpty()) << "a listing may lack a part";
  pass(seconds(8));
  EXPECT_THAT(failures_, ElementsAre("instance m-1 has disappeared"));
}

TEST_F(SimpleMachinesTest, a_machine_that_is_missing_in_some_listings_is_waited_for) {
  begin_create("1");
  pass(seconds(4));
  const std::vector<Machine> machines = std::exchange(cloud_->machines, {});
  pass(seconds(10));
  cloud_->machines = machines;
  pass(seconds(28));
  cloud_->machines.clear();
  pass(seconds(10));
  cloud_->machines = machines;
  cloud_->machine("m-1").state = State::running;
  pass(seconds(4));
  EXPECT_THAT(failures_, IsEmpty());
  EXPECT_THAT(made_, SizeIs(1));
}

TEST_F(SimpleMachinesTest, a_machine_may_take_a_while_to_show_up) {
  cloud_->shows_new_machines = false;
  begin_create("1");
  pass(seconds(20));
  Machine instance;
  instance.external_id = model::json_string("m-1");
  instance.state = State::running;
  cloud_->machines.push_back(instance);
  pass(seconds(4));
  EXPECT_THAT(made_, SizeIs(1));
  begin_create("2");
  pass(seconds(28));
  EXPECT_THAT(failures_, IsEmpty());
  pass(seconds(8));
  EXPECT_THAT(failures_, ElementsAre("instance m-2 has disappeared"));
}

TEST_F(SimpleMachinesTest, one_late_listing_without_a_machine_fails_no_launch) {
  boot_times_.restore({400, 400, 400, 400});
  ASSERT_GT(boot_times_.expectation()->earliest, seconds(60)) << "first polled after the delay";
  begin_create("1");
  const std::vector<Machine> machines = std::exchange(cloud_->machines, {});
  cloud_->calls.clear();
  while (cloud_->listings() == 0) pass(seconds(1));
  EXPECT_THAT(failures_, IsEmpty());
  cloud_->machines = machines;
  cloud_->machine("m-1").state = State::running;
  pass(seconds(400));
  EXPECT_THAT(failures_, IsEmpty());
  EXPECT_THAT(made_, SizeIs(1));
}

TEST_F(SimpleMachinesTest, a_listing_that_fails_for_now_fails_no_launch) {
  begin_create("1");
  cloud_->before_call = [](const std::string&) {
    throw CloudError(CloudError::Kind::transient, "busy");
  };
  pass(seconds(10));
  EXPECT_THAT(failures_, IsEmpty());
  EXPECT_THAT(log_, testing::Contains(HasSubstr("Error polling instances: busy")));
  cloud_->before_call = [](const std::string&) {};
  cloud_->machine("m-1").state = State::running;
  pass(seconds(30));
  EXPECT_THAT(made_, SizeIs(1));
}

TEST_F(SimpleMachinesTest, a_listing_that_fails_for_good_fails_the_launch) {
  begin_create("1");
  cloud_->before_call = [](const std::string&) {
    throw CloudError(CloudError::Kind::permanent, "you may not");
  };
  pass(seconds(4));
  EXPECT_THAT(failures_, ElementsAre("you may not"));
}

TEST_F(SimpleMachinesTest, a_machine_is_removed_when_no_listing_shows_it) {
  begin_create("1");
  cloud_->machine("m-1").state = State::running;
  pass(seconds(4));
  tasks_.spawn("remove", remove("m-1"));
  pass(seconds(10));
  EXPECT_THAT(cloud_->calls, testing::Contains("delete m-1").Times(1));
  EXPECT_FALSE(removed_);
  cloud_->machine("m-1").state = State::deleted;
  pass(seconds(4));
  EXPECT_TRUE(removed_);
}

TEST_F(SimpleMachinesTest, a_machine_that_is_not_there_is_removed_at_once) {
  tasks_.spawn("remove", remove("m-9"));
  settle();
  EXPECT_TRUE(removed_);
  EXPECT_THAT(cloud_->calls, ElementsAre("delete m-9"));
}

TEST_F(SimpleMachinesTest, all_machines_count_and_may_be_left_over) {
  begin_create("1");
  Machine gone;
  gone.external_id = model::json_string("gone");
  gone.state = State::deleted;
  cloud_->machines.push_back(gone);
  const auto look = [](SimpleMachines& machines, MachineList& listed) -> Task<> {
    listed = co_await machines.list();
    const Resource leaked = listed.machines.at(0).as_resource();
    bool is_refused = false;
    try {
      co_await machines.remove_resource({"volume", leaked.id, {}});
    } catch (const CloudError& error) {
      is_refused = error.kind() == CloudError::Kind::permanent;
    }
    EXPECT_TRUE(is_refused) << "what is no machine is not deleted as one";
    co_await machines.remove_resource(leaked);
  };
  MachineList listed;
  run(look(machines_, listed));
  ASSERT_THAT(listed.machines, SizeIs(2));
  EXPECT_EQ(listed.machines[0].resources.amount("cores"), 2);
  EXPECT_FALSE(listed.machines[1].is_there());
  const Resource leaked = listed.machines[0].as_resource();
  EXPECT_EQ(leaked.type, kInstanceResource);
  EXPECT_EQ(leaked.id, "m-1");
  EXPECT_EQ(leaked.metadata, spec("1").metadata);
  EXPECT_EQ(cloud_->calls.back(), "delete m-1");
}

TEST_F(SimpleMachinesTest, the_cloud_is_asked_for_limits_and_labels) {
  const auto ask = [](SimpleMachines& machines, CloudDescription& described) -> Task<> {
    described = co_await machines.describe(CloudDescription::Purpose::plan);
  };
  CloudDescription described;
  run(ask(machines_, described));
  run(ask(machines_, described));
  EXPECT_EQ(described.limits, (Limits{{"instances", 7}}));
  const Resources need({{"instances", 1}, {"cores", 2}});
  EXPECT_EQ(described.labels.at({"main", "small"}), (LabelDescription{.need = need}));
  EXPECT_EQ(described.labels.at({"main", "bare"}).problem, "images are not available: no image");
  EXPECT_EQ(described.labels.at({"main", "built"}).problem, "") << "its uploads count";
  EXPECT_EQ(described.labels.at({"main", "odd"}).problem, "no such type");
  EXPECT_EQ(std::ranges::count(cloud_->calls, "need small"), 1);
}

}  // namespace
}  // namespace nodepool::driver
