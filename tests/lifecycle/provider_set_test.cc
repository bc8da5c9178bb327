#include "lifecycle/provider_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/thread_pool.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "model/records.h"
#include "tests/support/virtual_time.h"

namespace nodepool::lifecycle {
namespace {

using coordination::StoreError;
using driver::Provider;
using driver::ProviderConfig;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using Events = std::vector<std::string>;

// What the providers do, and what has happened to them.
struct Script {
  std::map<std::string, async::Duration> start_times;  // by provider
  std::map<std::string, std::string> start_failures;   // by provider
  std::map<std::string, std::string> file_problems;    // by provider
  std::map<std::string, std::string> warnings;         // by provider
  std::set<std::string> cannot_be_created;             // providers
  std::map<std::string, StoreError> store_failures;    // of the next start, by provider
  Events events;
};

// A provider whose configuration is one number, which is also its line in the file.
class NumberedConfig final : public ProviderConfig {
 public:
  NumberedConfig(const config::ProviderSection& section, const Script& script)
      : ProviderConfig(section), title_(fmt::format("{}-{}", name(), section.value.as_integer())) {
    const auto problem = script.file_problems.find(name());
    if (problem != script.file_problems.end()) outside_problem_ = {.message = problem->second};
    const auto warning = script.warnings.find(name());
    if (warning == script.warnings.end()) return;
    const config::Mark mark{.line = static_cast<int>(section.value.as_integer()), .column = 1};
    config_warnings_ = {{.file = "f", .mark = mark, .message = warning->second}};
  }

  const std::string& title() const { return title_; }

 private:
  std::string title_;
};

const std::string& title(const ProviderConfig& config) {
  return dynamic_cast<const NumberedConfig&>(config).title();
}

class NumberedProvider final : public Provider {
 public:
  NumberedProvider(std::shared_ptr<const ProviderConfig> config, async::Clock& clock,
                   Script& script)
      : config_(std::move(config)), clock_(clock), script_(script) {}

  const ProviderConfig& config() const override { return *config_; }

  Task<> start() override {
    happened("start");
    const std::string& name = config_->name();
    co_await clock_.sleep_for(script_.start_times[name]);
    const auto store_failure = script_.store_failures.extract(name);
    if (store_failure) throw StoreError(store_failure.mapped());
    const auto failure = script_.start_failures.find(name);
    if (failure != script_.start_failures.end()) throw std::runtime_error(failure->second);
  }

  void quiesce() override { happened("quiesce"); }

  void take_over(Provider& predecessor) override {
    happened("take over " + title(predecessor.config()) + " by");
  }

  Task<> stop() override {
    happened("stop");
    co_return;
  }

  Task<bool> is_usable(std::string /*node_id*/) override { co_return true; }

  Task<std::optional<model::Node>> reclaim(driver::NodeRecord& /*record*/) override {
    co_return std::nullopt;
  }

 private:
  void happened(const std::string& event) {
    script_.events.push_back(event + " " + title(*config_));
  }

  std::shared_ptr<const ProviderConfig> config_;
  async::Clock& clock_;
  Script& script_;
};

class NumberedDriver final : public driver::Driver {
 public:
  NumberedDriver(async::Clock& clock, Script& script) : clock_(clock), script_(script) {}

  std::string_view name() const override { return "numbered"; }
  const config::Schema& schema() const override { throw std::logic_error("not asked"); }
  std::shared_ptr<const ProviderConfig> configure(const config::ProviderSection& section,
                                                  const config::Config& /*config*/) const override {
    return std::make_shared<NumberedConfig>(section, script_);
  }
  std::unique_ptr<Provider> provider(std::shared_ptr<const ProviderConfig> config,
                                     driver::ProviderContext /*context*/) const override {
    if (script_.cannot_be_created.contains(config->name())) throw std::runtime_error("too large");
    return std::make_unique<NumberedProvider>(std::move(config), clock_, script_);
  }

 private:
  async::Clock& clock_;
  Script& script_;
};

// A daemon whose use of a provider ends when the test says.
class Daemon final : public ProviderSet::User {
 public:
  explicit Daemon(Script& script) : script_(script) {}

  bool wants(const ProviderConfig& config) const override {
    if (config.name() == invalid) throw std::runtime_error("invalid");
    return config.name() != unwanted;
  }

  void put_in_service(std::shared_ptr<Provider> provider) override {
    const std::string& name = provider->config().name();
    if (name == unusable) throw std::runtime_error("unusable");
    script_.events.push_back("begin " + title(provider->config()));
    in_service.emplace(name, std::move(provider));
  }

  Task<> take_out_of_service(std::string name) override {
    return wait_until_idle(in_service.extract(name).mapped());
  }

  Task<> adapt(const config::Config& config) override {
    script_.events.push_back(fmt::format("adapt to {}", config.providers.size()));
    co_return;
  }

  void set_idle() {
    busy = false;
    idle_.set();
  }

  std::string invalid;   // a provider
  std::string unwanted;  // a provider
  std::string unusable;  // a provider
  std::map<std::string, std::shared_ptr<Provider>> in_service;
  bool busy = false;  // uses all providers

 private:
  Task<> wait_until_idle(std::shared_ptr<Provider> provider) {
    while (busy) co_await idle_.wait();
    script_.events.push_back("end " + title(provider->config()));
  }

  Script& script_;
  async::Event idle_{"idle"};
};

class ProviderSetTest : public testing::Test {
 protected:
  using Section = std::pair<std::string, int>;

  ProviderSetTest() {
    std::vector<std::unique_ptr<driver::Driver>> drivers;
    drivers.push_back(std::make_unique<NumberedDriver>(clock_, script_));
    drivers_.emplace(std::move(drivers));
    set_.emplace(
        *drivers_,
        driver::ProviderContext{runtime_, store_, records_.nodes, records_.images, threads_, log_},
        log_, daemon_);
  }

  ~ProviderSetTest() override { loop_.abandon(); }

  // Begins to apply a configuration. Returns what happens without a passing of time.
  Events apply(const std::vector<Section>& sections) {
    config::Config config;
    for (const auto& [name, number] : sections) {
      config.providers.push_back(
          {.name = name, .driver = "numbered", .value = config::Value::integer(number)});
    }
    scope_.spawn("apply", set_->apply(std::move(config)));
    return pass({});
  }

  Events stop() {
    scope_.spawn("stop", stop_set());
    return pass({});
  }

  // Returns what happens meanwhile.
  Events pass(async::Duration duration) {
    test_support::pass(clock_, duration, [this] { loop_.poll(); });
    return std::exchange(script_.events, {});
  }

  Task<> stop_set() {
    co_await set_->stop_retrying();
    co_await set_->stop();
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  Events warnings_;
  telemetry::Logger log_{
      telemetry::Log::to_consumer(
          [this](telemetry::LogLevel level, std::string_view, std::string_view message) {
            if (level == telemetry::LogLevel::warning) warnings_.emplace_back(message);
          }),
      "test"};
  model::Records records_{runtime_, store_, log_};
  async::ThreadPool threads_{1, "test"};
  Script script_;
  std::optional<driver::DriverRegistry> drivers_;
  Daemon daemon_{script_};
  std::optional<ProviderSet> set_;
  Events errors_;
  async::TaskScope scope_{
      runtime_, [this](const std::string&, const std::string& error) { errors_.push_back(error); }};
};

TEST_F(ProviderSetTest, providers_serve_in_the_order_of_the_configuration_until_the_stop) {
  EXPECT_THAT(
      apply({{"sky", 1}, {"sea", 1}}),
      ElementsAre("start sky-1", "begin sky-1", "start sea-1", "begin sea-1", "adapt to 2"));
  EXPECT_THAT(stop(), ElementsAre("quiesce sea-1", "end sea-1", "stop sea-1", "quiesce sky-1",
                                  "end sky-1", "stop sky-1"));
  EXPECT_THAT(daemon_.in_service, IsEmpty());
}

TEST_F(ProviderSetTest, a_provider_that_the_daemon_does_not_want_is_not_started) {
  daemon_.unwanted = "sea";
  EXPECT_THAT(apply({{"sea", 1}, {"sky", 1}}),
              ElementsAre("start sky-1", "begin sky-1", "adapt to 2"));
  EXPECT_THAT(set_->wanted(), ElementsAre(Pair("sky", testing::_)));
}

TEST_F(ProviderSetTest, an_invalid_configuration_changes_nothing) {
  apply({{"sky", 1}});
  daemon_.invalid = "sea";
  EXPECT_THAT(apply({{"sky", 2}, {"sea", 1}}), IsEmpty());
  EXPECT_THAT(errors_, ElementsAre("invalid"));
  EXPECT_THAT(set_->wanted(), ElementsAre(Pair("sky", testing::_)));
}

TEST_F(ProviderSetTest, a_changed_provider_is_stopped_when_its_successor_serves) {
  apply({{"sky", 1}, {"sea", 1}});
  EXPECT_THAT(apply({{"sky", 2}, {"sea", 1}}),
              ElementsAre("quiesce sky-1", "take over sky-1 by sky-2", "start sky-2", "begin sky-2",
                          "adapt to 2", "end sky-1", "stop sky-1"));
}

TEST_F(ProviderSetTest, a_removed_provider_is_stopped_when_nothing_uses_it) {
  apply({{"sky", 1}, {"sea", 1}});
  daemon_.busy = true;
  EXPECT_THAT(apply({{"sea", 1}}), ElementsAre("quiesce sky-1", "adapt to 1"));
  EXPECT_THAT(daemon_.in_service, ElementsAre(Pair("sea", testing::_)));
  daemon_.set_idle();
  EXPECT_THAT(pass({}), ElementsAre("end sky-1", "stop sky-1"));
}

// A request that was accepted with it may call it for the first time later.
TEST_F(ProviderSetTest, a_replaced_provider_is_stopped_when_the_last_pointer_to_it_is_gone) {
  apply({{"sky", 1}});
  std::shared_ptr<Provider> accepted = daemon_.in_service.at("sky");
  EXPECT_THAT(apply({{"sky", 2}}),
              ElementsAre("quiesce sky-1", "take over sky-1 by sky-2", "start sky-2", "begin sky-2",
                          "adapt to 1", "end sky-1"));
  EXPECT_THAT(pass(seconds(600)), IsEmpty());
  accepted.reset();
  EXPECT_THAT(pass({}), ElementsAre("stop sky-1"));
}

TEST_F(ProviderSetTest, a_failed_start_is_retried_beside_the_others) {
  script_.start_failures["sky"] = "no credentials";
  EXPECT_THAT(apply({{"sky", 1}, {"sea", 1}}),
              ElementsAre("start sky-1", "stop sky-1", "start sea-1", "begin sea-1", "adapt to 2"));
  EXPECT_THAT(set_->failures(), ElementsAre(Pair("sky", "no credentials")));
  EXPECT_THAT(pass(seconds(5)), ElementsAre("start sky-1", "stop sky-1", "adapt to 2"));
  script_.start_failures.clear();
  EXPECT_THAT(pass(seconds(9)), IsEmpty()) << "the second pause is longer";
  EXPECT_THAT(pass(seconds(1)), ElementsAre("start sky-1", "begin sky-1", "adapt to 2"));
  EXPECT_THAT(set_->failures(), IsEmpty());
  EXPECT_THAT(pass(seconds(600)), IsEmpty());
}

TEST_F(ProviderSetTest, a_provider_that_cannot_be_created_has_failed) {
  script_.cannot_be_created = {"sky"};
  EXPECT_THAT(apply({{"sky", 1}, {"sea", 1}}),
              ElementsAre("start sea-1", "begin sea-1", "adapt to 2"));
  EXPECT_THAT(errors_, IsEmpty());
  EXPECT_THAT(set_->failures(), ElementsAre(Pair("sky", "too large")));
}

TEST_F(ProviderSetTest, a_file_that_one_provider_needs_concerns_no_other) {
  script_.file_problems["sky"] = "no kubeconfig";
  EXPECT_THAT(apply({{"sky", 1}, {"sea", 1}}),
              ElementsAre("start sea-1", "begin sea-1", "adapt to 2"));
  EXPECT_THAT(errors_, IsEmpty());
  EXPECT_THAT(set_->failures(), ElementsAre(Pair("sky", "no kubeconfig")));
  script_.file_problems.clear();
  EXPECT_THAT(apply({{"sky", 1}, {"sea", 1}}),
              ElementsAre("start sky-1", "begin sky-1", "adapt to 2"));
  EXPECT_THAT(set_->failures(), IsEmpty());
}

TEST_F(ProviderSetTest, a_warning_about_a_provider_is_logged_once) {
  script_.warnings["sky"] = "listed twice";
  apply({{"sky", 1}, {"sea", 1}});
  EXPECT_THAT(warnings_, ElementsAre("f:1:1: listed twice"));
  apply({{"sky", 2}, {"sea", 1}});
  EXPECT_THAT(warnings_, SizeIs(1)) << "it has only moved to another line";
  script_.warnings["sky"] = "no key";
  apply({{"sky", 2}, {"sea", 1}});
  EXPECT_THAT(warnings_, ElementsAre("f:1:1: listed twice", "f:2:1: no key"));
}

TEST_F(ProviderSetTest, a_warning_is_about_the_configuration_in_effect) {
  script_.warnings["sky"] = "listed twice";
  apply({{"sky", 1}});
  script_.warnings["sky"] = "no key";
  script_.file_problems["sky"] = "no kubeconfig";
  apply({{"sky", 2}});
  EXPECT_THAT(warnings_, ElementsAre("f:1:1: listed twice"));
  script_.file_problems.clear();
  apply({{"sky", 2}});
  EXPECT_THAT(warnings_, ElementsAre("f:1:1: listed twice", "f:2:1: no key"));
}

TEST_F(ProviderSetTest, a_provider_in_service_stays_as_it_is_without_its_file) {
  apply({{"sky", 1}});
  script_.file_problems["sky"] = "no kubeconfig";
  EXPECT_THAT(apply({{"sky", 2}, {"sea", 1}}),
              ElementsAre("start sea-1", "begin sea-1", "adapt to 2"));
  EXPECT_THAT(set_->outdated(), ElementsAre(Pair("sky", "no kubeconfig")));
  EXPECT_THAT(set_->failures(), IsEmpty()) << "it serves";
  EXPECT_EQ(title(*set_->wanted().at("sky")), "sky-1");
  script_.file_problems.clear();
  EXPECT_THAT(apply({{"sky", 2}, {"sea", 1}}),
              ElementsAre("quiesce sky-1", "take over sky-1 by sky-2", "start sky-2", "begin sky-2",
                          "adapt to 2", "end sky-1", "stop sky-1"));
  EXPECT_THAT(set_->outdated(), IsEmpty());
}

TEST_F(ProviderSetTest, a_provider_that_the_daemon_does_not_want_needs_no_file) {
  daemon_.unwanted = "sky";
  script_.file_problems["sky"] = "no kubeconfig";
  EXPECT_THAT(apply({{"sky", 1}, {"sea", 1}}),
              ElementsAre("start sea-1", "begin sea-1", "adapt to 2"));
  EXPECT_THAT(set_->failures(), IsEmpty());
}

TEST_F(ProviderSetTest, a_provider_that_cannot_serve_has_failed) {
  daemon_.unusable = "sky";
  EXPECT_THAT(apply({{"sky", 1}}), ElementsAre("start sky-1", "stop sky-1", "adapt to 1"));
  EXPECT_THAT(set_->failures(), ElementsAre(Pair("sky", "unusable")));
}

TEST_F(ProviderSetTest, a_failure_of_a_removed_provider_is_none) {
  script_.start_failures["sky"] = "no credentials";
  apply({{"sky", 1}});
  EXPECT_THAT(apply({}), ElementsAre("adapt to 0"));
  EXPECT_THAT(set_->failures(), IsEmpty());
  EXPECT_THAT(pass(seconds(600)), IsEmpty());
}

TEST_F(ProviderSetTest, a_change_during_a_retry_replaces_the_provider_that_is_starting) {
  script_.start_failures["sky"] = "no credentials";
  apply({{"sky", 1}});
  script_.start_failures.clear();
  script_.start_times["sky"] = seconds(60);
  EXPECT_THAT(pass(seconds(6)), ElementsAre("start sky-1"));
  EXPECT_THAT(apply({{"sky", 2}}), ElementsAre("stop sky-1", "start sky-2"));
  EXPECT_THAT(pass(seconds(60)), ElementsAre("begin sky-2", "adapt to 1"));
  EXPECT_THAT(pass(seconds(600)), IsEmpty());
}

TEST_F(ProviderSetTest, a_replaced_provider_waits_for_a_successor_that_is_starting) {
  apply({{"sky", 1}});
  script_.start_times["sky"] = seconds(60);
  EXPECT_THAT(apply({{"sky", 2}}),
              ElementsAre("quiesce sky-1", "take over sky-1 by sky-2", "start sky-2"));
  EXPECT_THAT(pass(seconds(59)), IsEmpty());
  EXPECT_THAT(pass(seconds(1)),
              ElementsAre("begin sky-2", "adapt to 1", "end sky-1", "stop sky-1"));
}

TEST_F(ProviderSetTest, a_replaced_provider_does_not_wait_for_retries) {
  apply({{"sky", 1}});
  script_.start_failures["sky"] = "no credentials";
  EXPECT_THAT(apply({{"sky", 2}}),
              ElementsAre("quiesce sky-1", "take over sky-1 by sky-2", "start sky-2", "stop sky-2",
                          "adapt to 1", "end sky-1", "stop sky-1"));
  script_.start_failures.clear();
  EXPECT_THAT(pass(seconds(5)), ElementsAre("start sky-2", "begin sky-2", "adapt to 1"));
}

TEST_F(ProviderSetTest, two_changes_in_a_row_leave_two_providers_to_stop) {
  apply({{"sky", 1}});
  daemon_.busy = true;
  apply({{"sky", 2}});
  EXPECT_THAT(apply({{"sky", 3}}), ElementsAre("quiesce sky-2", "take over sky-2 by sky-3",
                                               "start sky-3", "begin sky-3", "adapt to 1"));
  EXPECT_THAT(stop(), IsEmpty()) << "it waits for both";
  daemon_.set_idle();
  EXPECT_THAT(pass({}), ElementsAre("end sky-1", "stop sky-1", "end sky-2", "stop sky-2",
                                    "quiesce sky-3", "end sky-3", "stop sky-3"));
}

TEST_F(ProviderSetTest, a_stop_while_a_configuration_is_applied_stops_all_providers) {
  apply({{"sky", 1}, {"sea", 1}});
  script_.start_times["sky"] = seconds(60);
  apply({{"sky", 2}, {"sea", 1}});
  scope_.cancel();
  EXPECT_THAT(pass({}), ElementsAre("stop sky-2", "end sky-1", "stop sky-1"));
  loop_.run(stop_set());
  EXPECT_THAT(pass({}), ElementsAre("quiesce sea-1", "end sea-1", "stop sea-1"));
}

TEST_F(ProviderSetTest, a_stop_during_a_retry_stops_the_provider_that_is_starting) {
  script_.start_failures["sky"] = "no credentials";
  apply({{"sky", 1}});
  script_.start_times["sky"] = seconds(60);
  EXPECT_THAT(pass(seconds(6)), ElementsAre("start sky-1"));
  EXPECT_THAT(stop(), ElementsAre("stop sky-1"));
  EXPECT_THAT(pass(seconds(600)), IsEmpty());
}

TEST_F(ProviderSetTest, an_unreachable_store_is_no_failure_of_a_provider) {
  script_.store_failures.emplace(
      "sky", StoreError(StoreError::Kind::disconnected, "the store is unreachable"));
  EXPECT_THAT(apply({{"sky", 1}}), ElementsAre("start sky-1", "stop sky-1"));
  EXPECT_THAT(set_->failures(), IsEmpty());
  EXPECT_THAT(pass(seconds(1)), ElementsAre("start sky-1", "begin sky-1", "adapt to 1"));
}

TEST_F(ProviderSetTest, a_closed_store_ends_it) {
  apply({{"sky", 1}});
  script_.store_failures.emplace("sea", StoreError(StoreError::Kind::closed, "closed"));
  EXPECT_THAT(apply({{"sea", 1}}),
              ElementsAre("quiesce sky-1", "start sea-1", "stop sea-1", "end sky-1", "stop sky-1"));
  EXPECT_THAT(errors_, ElementsAre("closed"));
}

}  // namespace
}  // namespace nodepool::lifecycle
