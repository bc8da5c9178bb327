// Tests the cost of explanations, and those by launchers. Other texts: tests/cli/explain_test.cc.

#include "report/explanation/explainer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "coordination/tree.h"
#include "model/host_report.h"
#include "model/lease.h"
#include "model/records.h"
#include "tests/support/allocations.h"

namespace nodepool::report {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;
using testing::Not;
using testing::SizeIs;
using Code = planning::Reason::Code;
using namespace std::string_literals;

// Provider `sky` launches machines in pool `main` with label `small`.
class SkyConfig final : public driver::ProviderConfig {
 public:
  SkyConfig() : ProviderConfig({.name = "sky"}) {
    pools_["main"].name = "main";
    pools_["main"].labels = {"small"};
  }
  driver::Offer offer() const override {
    driver::Offer offer = ProviderConfig::offer();
    offer.launches = true;
    offer.launch_attempts = 3;
    return offer;
  }
};

void add_texts(const Statements& statements, std::string& to) {
  for (const Statement& statement : statements) {
    to += statement.text + "\n";
    add_texts(statement.details, to);
  }
}

class ExplainerTest : public testing::Test {
 protected:
  ExplainerTest() {
    config_.labels.try_emplace("small");
    model::Component pool;
    pool.kind = model::Component::Kind::pool;
    pool.id = pool_id_;
    pool.hostname = "l1";
    pool.name = "main";
    pool.provider_name = "sky";
    pool.supported_labels = {"small"};
    records_.components.seen("pool/l10000000000", entry(to_record(pool)));
  }
  ~ExplainerTest() override { loop_.run(scope_.stop()); }

  coordination::Entry entry(std::string record) {
    return {std::move(record),
            {.mzxid = ++transactions_,
             .ctime = static_cast<std::int64_t>(clock_.wall_seconds() * 1000)}};
  }

  void add_node() {
    model::Node node;
    node.set_state(model::NodeState::building, clock_.wall_seconds());
    node.provider = "sky";
    node.pool = "main";
    node.type = {"small"};
    node.resources = driver::Resources({{"instances", 1}}).to_json();
    records_.nodes.seen(fmt::format("{:010}", transactions_), entry(to_record(node)));
  }

  // Returns its id.
  std::string add_node_of_others(model::NodeState state, std::string host = "their-host") {
    model::Node node;
    node.set_state(state, clock_.wall_seconds());
    node.provider = "sky";
    node.pool = "main";
    node.type = {"small"};
    node.hostname = std::move(host);
    node.slot = 0;
    if (state == model::NodeState::in_use) node.requestor = "their-ci";
    std::string id = fmt::format("{:010}", transactions_);
    records_.nodes.seen(id, entry(to_record(node)));
    return id;
  }

  void add_launcher(const std::string& host, std::vector<std::string> problems) {
    model::Component launcher;
    launcher.hostname = host;
    launcher.problems = std::move(problems);
    records_.components.seen("launcher/" + host + "0000000000", entry(to_record(launcher)));
  }

  // In use, of label `other`. Returns its id.
  std::string add_leased_node(const std::string& pool, const std::string& lease, double expires) {
    model::Node node;
    node.set_state(model::NodeState::in_use, clock_.wall_seconds());
    node.provider = "sky";
    node.pool = pool;
    node.type = {"other"};
    node.user_data = model::lease_user_data(
        {.id = lease, .expires = clock_.wall_seconds() + expires, .holder = "ada"});
    std::string id = fmt::format("{:010}", transactions_);
    records_.nodes.seen(id, entry(to_record(node)));
    return id;
  }

  // A request that its pool leaves waiting for this reason. Returns its id.
  std::string add_request_that_waits(planning::Reason::Code code) {
    std::string id = add_request();
    decisions_[id][pool_id_] = {.kind = planning::Decision::Kind::wait,
                                .until = planning::Decision::Until::capacity_is_free,
                                .reason = {.code = code}};
    return id;
  }

  // Returns its id.
  std::string add_request() {
    model::NodeRequest request;
    request.set_state(model::RequestState::requested, clock_.wall_seconds());
    request.node_types = {"small"};
    std::string id = fmt::format("200-{:010}", transactions_);
    records_.requests.seen(id, entry(to_record(request)));
    return id;
  }

  // As the reader gets it.
  std::optional<Explanation> explain_to(MayName may_name, const std::string& subject) {
    Sources sources = all_sources();
    sources.may_name = std::move(may_name);
    return loop_.run(explain(std::move(sources), subject, {}));
  }
  std::string text_for(const std::string& subject, MayName may_name) {
    std::string text;
    add_texts(explain_to(std::move(may_name), subject).value().statements, text);
    return text;
  }
  Explanation explain_label() { return explain_to({}, "small").value(); }

  Sources all_sources() {
    Sources sources{.now = clock_.wall_seconds(),
                    .store = store_,
                    .nodes = records_.nodes,
                    .images = records_.images,
                    .requests = records_.requests,
                    .components = records_.components,
                    .config = config_,
                    .providers = {},
                    .history =
                        [this](const std::string&) {
                          ++explained_;
                          return history::SubjectHistory();
                        },
                    .waits = waits_,
                    .own_pools = own_pools_,
                    .decisions =
                        [this](const std::string& id) {
                          const auto found = decisions_.find(id);
                          return found == decisions_.end() ? nullptr : &found->second;
                        }};
    sources.providers["sky"].config = std::make_shared<const SkyConfig>();
    return sources;
  }

  const std::string pool_id_ = "l1-PoolWorker.sky-main-" + std::string(32, 'a');
  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  telemetry::Logger log_{
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {}),
      "test"};
  model::Records records_{runtime_, store_, log_};
  config::Config config_;
  std::set<std::string> own_pools_ = {pool_id_};
  history::Waits waits_;
  std::map<std::string, PoolDecisions> decisions_;  // by request
  int explained_ = 0;                               // requests
  std::int64_t transactions_ = 0;
  async::TaskScope scope_{runtime_, [](const std::string& name, const std::string& error) {
                            ADD_FAILURE() << name << ": " << error;
                          }};
};

TEST_F(ExplainerTest, a_launcher_knows_its_decisions_about_all_requests_of_a_label) {
  const std::string decided = add_request();
  const std::string undecided = add_request();
  decisions_[decided][pool_id_] = {.kind = planning::Decision::Kind::wait,
                                   .until = planning::Decision::Until::launch_ends};
  const Explanation explanation = explain_label();
  const Statements& requests = explanation.statements.back().details;
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].text, decided + ": sky-main on l1 waits (until a launch ends)");
  EXPECT_EQ(requests[1].text, undecided + ": sky-main on l1 has not decided about it yet");
}

TEST_F(ExplainerTest, a_launcher_does_not_know_the_decisions_of_another_one_on_its_host) {
  own_pools_.clear();
  const std::string id = add_request();
  const Explanation explanation = explain_label();
  const Statements& requests = explanation.statements.back().details;
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].text, id + ": sky-main on l1 may serve it; its decisions are known on l1: "
                                   "use --url");
}

// Ends the requests as soon as one of them is explained.
async::Task<> end_requests(model::RequestTable& requests, std::vector<std::string> ids,
                           const int& explained) {
  while (explained == 0) co_await boost::asio::post(boost::asio::use_awaitable);
  for (const std::string& id : ids) requests.removed(id);
}

TEST_F(ExplainerTest, other_tasks_run_between_the_requests_of_a_label) {
  std::vector<std::string> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(add_request());
  scope_.spawn("requestor", end_requests(records_.requests, ids, explained_));
  const Explanation explanation = explain_label();
  const Statements& requests = explanation.statements.back().details;
  EXPECT_THAT(requests, Not(IsEmpty()));
  EXPECT_THAT(requests, SizeIs(Lt(ids.size())));
  EXPECT_EQ(explanation.omitted, 0U);
}

TEST_F(ExplainerTest, the_usage_of_a_provider_is_computed_once_for_all_requests_of_a_label) {
  for (int i = 0; i < 2000; ++i) add_node();
  const auto allocations = [this] {
    return test_support::allocations_of([this] { explain_label(); }).count;
  };
  add_request();
  const std::size_t for_one = allocations();
  for (int i = 1; i < 10; ++i) add_request();
  EXPECT_LT(allocations(), 2 * for_one);
}

TEST_F(ExplainerTest, a_reader_gets_no_names_of_what_it_may_not_see) {
  const std::string theirs = add_request();
  const std::string in_use = add_node_of_others(model::NodeState::in_use);
  const std::string deleting = add_node_of_others(model::NodeState::deleting);
  add_node_of_others(model::NodeState::ready);
  clock_.advance_by(std::chrono::minutes(10));
  const std::string own = add_request();
  decisions_[own][pool_id_] = {
      .kind = planning::Decision::Kind::wait,
      .until = planning::Decision::Until::earlier_one_is_served,
      .reason = {.code = planning::Reason::Code::comes_after, .subject = theirs}};
  const std::string complete = text_for(own, {});
  const std::string filtered = text_for(own, [&own](const std::string& id) { return id == own; });
  for (const std::string& name : {theirs, in_use, deleting, "their-host"s, "their-ci"s}) {
    EXPECT_THAT(complete, HasSubstr(name));
    EXPECT_THAT(filtered, Not(HasSubstr(name)));
  }
  EXPECT_THAT(filtered, HasSubstr("request of another client has waited too long"));
  EXPECT_THAT(filtered, HasSubstr("it has not served another client's request for"));
  EXPECT_THAT(filtered, HasSubstr("another client's node is in use for 0:10:00"));
  EXPECT_THAT(filtered, HasSubstr("another client's node is deleting for"));
}

TEST_F(ExplainerTest, a_label_names_all_hosts_and_a_request_some) {
  std::vector<std::string> ids;
  loop_.run(coordination::ensure_path(store_, "/nodepool/hosts"));
  for (int i = 0; i < 12; ++i) {
    ids.push_back(add_node_of_others(model::NodeState::ready, fmt::format("node-host{}", i)));
    loop_.run(store_.create(fmt::format("/nodepool/hosts/{}", i),
                            to_record(model::HostReport{.provider = "sky",
                                                        .pool = "main",
                                                        .host = fmt::format("node-host{}", i),
                                                        .username = "ci",
                                                        .port = 22,
                                                        .labels = {"small"},
                                                        .problem = "Connection refused",
                                                        .since = clock_.wall_seconds(),
                                                        .next_check = 60,
                                                        .launcher = "l1"}),
                            coordination::CreateMode::ephemeral));
  }
  const std::string label = text_for("small", {});
  EXPECT_THAT(label, HasSubstr("node-host0, node-host1, node-host10, node-host11, node-host2, "));
  EXPECT_THAT(label, HasSubstr(", node-host9\n"));
  for (int i = 0; i < 12; ++i) {
    EXPECT_THAT(label, HasSubstr(fmt::format("\nhost node-host{} on port 22 is unhealthy", i)));
  }
  EXPECT_THAT(label, Not(HasSubstr("more hosts")));

  const std::string request = text_for(add_request(), {});
  EXPECT_THAT(request, HasSubstr(", node-host7, …\n"));
  EXPECT_THAT(request, HasSubstr("\n… and 2 more hosts are unhealthy\n"));

  const std::string own =
      text_for("small", [&ids](const std::string& id) { return id == "small" || id == ids.at(3); });
  EXPECT_THAT(own, HasSubstr("\nhost node-host3 on port 22 is unhealthy"));
  EXPECT_THAT(own, HasSubstr("\na host is unhealthy"));
  EXPECT_THAT(own, Not(HasSubstr("node-host4")));
}

TEST_F(ExplainerTest, a_full_pool_shows_its_nodes_of_all_labels) {
  add_leased_node("main", "200-1", 900);
  const std::string first = add_leased_node("main", "200-2", 291);
  add_leased_node("side", "200-3", 60);
  const std::string in_pool = text_for(add_request_that_waits(Code::pool_full), {});
  EXPECT_THAT(in_pool, HasSubstr("\n2 leases; the first of them ends in 0:04:51\n"));
  EXPECT_THAT(in_pool,
              HasSubstr("\nthe next of these leases expires in 0:04:51\nnode " + first +
                        " (other) is in use by ada for 0:00:00; its lease expires in 0:04:51\n"));
  const std::string in_provider = text_for(add_request_that_waits(Code::provider_full), {});
  EXPECT_THAT(in_provider, HasSubstr("\n3 leases; the first of them ends in 0:01:00\n"));
  const std::string elsewhere = text_for(add_request_that_waits(Code::launches_under_way), {});
  EXPECT_THAT(elsewhere, Not(HasSubstr("lease")));
}

TEST_F(ExplainerTest, a_full_pool_shows_the_first_of_many_nodes) {
  for (int i = 0; i < 6; ++i) add_leased_node("main", "200-1", 60);
  add_node();
  const std::string text = text_for(add_request_that_waits(Code::pool_full), {});
  EXPECT_THAT(text, HasSubstr("\n1 lease; it ends in 0:01:00\n"));
  EXPECT_THAT(text, HasSubstr("\n… and 2 others\n"));
  EXPECT_THAT(text, Not(HasSubstr("is building")));
}

TEST_F(ExplainerTest, a_full_pool_shows_nodes_that_are_not_in_use) {
  add_node();
  EXPECT_THAT(text_for(add_request_that_waits(Code::pool_full), {}),
              HasSubstr(" (small) is building for 0:00:00\n"));
}

TEST_F(ExplainerTest, a_reader_gets_only_the_number_of_nodes_of_others_that_fill_a_pool) {
  const std::string own = add_leased_node("main", "200-1", 900);
  add_leased_node("main", "200-2", 60);
  add_node_of_others(model::NodeState::deleting);
  const std::string request = add_request_that_waits(Code::pool_full);
  const std::string text =
      text_for(request, [&](const std::string& id) { return id == own || id == request; });
  EXPECT_THAT(text, HasSubstr("\n1 lease; it ends in 0:15:00\n"));
  EXPECT_THAT(text, HasSubstr("\n2 nodes of other clients\n"));
  EXPECT_THAT(text, Not(HasSubstr("another client's node")));
  EXPECT_THAT(text, Not(HasSubstr("0:01:00")));
}

TEST_F(ExplainerTest, without_pools_the_problem_of_a_launcher_is_the_reason) {
  records_.components.removed("pool/l10000000000");
  const std::string request = add_request();
  EXPECT_THAT(text_for(request, {}),
              HasSubstr("\nstart a launcher whose configuration has a pool for the label\n"
                        "1 of 1 waiting requests; 0 requests ahead want the same label\n"
                        "No pool is registered: no launcher runs, or none has a provider.\n"));
  add_launcher("l1", {});
  EXPECT_THAT(text_for(request, {}),
              HasSubstr("\nlauncher on l1 serves no pool\nwait until it has started, or "));
  add_launcher("l2", {"the history cannot be written: the disk is full",
                      "provider sky is not in service: no such cloud"});
  add_launcher("l3", {});
  const std::string reason =
      "launcher on l2 serves no pool: provider sky is not in service: no such cloud";
  const std::string complete = text_for(request, {});
  EXPECT_THAT(complete, HasSubstr("\n" + reason + "\nsolve this problem; "));
  EXPECT_THAT(complete, HasSubstr("\nNo pool is registered: " + reason + ".\n"));
  EXPECT_THAT(text_for("small", {}), HasSubstr("No pool is registered: " + reason + ".\n"));
  const std::string filtered = text_for(request, [](const std::string&) { return true; });
  EXPECT_THAT(filtered, HasSubstr("No pool is registered: a launcher runs, but serves no pool.\n"));
  EXPECT_THAT(filtered, Not(HasSubstr("no such cloud")));
}

TEST_F(ExplainerTest, the_estimate_has_the_requests_ahead_and_the_usual_wait) {
  const std::string first = add_request();
  const std::string second = add_request();
  EXPECT_THAT(text_for(second, {}), Not(HasSubstr("usual"))) << "it is not known";
  waits_[{"small"}] = {250, 250, 250};
  EXPECT_THAT(text_for(first, {}),
              HasSubstr("\nnone ahead for the same label; usually served within 0:04:10\n"));
  EXPECT_THAT(text_for(second, {}),
              HasSubstr("\n1 ahead for the same label; usually served within 0:04:10\n"));
  clock_.advance_by(std::chrono::seconds(251));
  EXPECT_THAT(text_for(second, {}),
              HasSubstr("\n1 ahead for the same label; waits longer than usual, which is "
                        "0:04:10\n"));
}

TEST_F(ExplainerTest, a_reader_gets_no_explanation_of_what_it_may_not_see_any_more) {
  const std::string request = add_request();
  EXPECT_TRUE(explain_to({}, request));
  EXPECT_FALSE(explain_to([](const std::string&) { return false; }, request));
}

}  // namespace
}  // namespace nodepool::report
