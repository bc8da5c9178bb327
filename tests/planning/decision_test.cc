#include "planning/decision.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "planning/decision_text.h"

namespace nodepool::planning {
namespace {

using model::Component;
using model::NodeRequest;
using Kind = Decision::Kind;
using Until = Decision::Until;

Component pool(std::string id, std::string provider, std::vector<std::string> labels,
               std::int64_t priority = 100) {
  Component component;
  component.kind = Component::Kind::pool;
  component.id = std::move(id);
  component.name = "main";
  component.provider_name = std::move(provider);
  component.supported_labels = std::move(labels);
  component.priority = priority;
  return component;
}

// The input of a decision of the pool "own".
struct Situation {
  NodeRequest request;
  Component own = pool("own", "rack", {"small", "large"});
  std::vector<Component> others;
  std::int64_t max_concurrency = -1;
  EvaluationInput input;

  Situation() {
    request.id = "200-0000000001";
    request.node_types = {"small"};
    input.provider_limits.emplace();
  }

  // The pool launches all nodes of the request, with one instance each.
  void launches() {
    input.launches = true;
    input.missing = request.node_types;
    const auto count = static_cast<double>(request.node_types.size());
    input.needs_of_all = driver::Resources({{"instances", count}});
    input.needs_of_missing = input.needs_of_tenant = input.needs_of_all;
  }

  Decision decide() const {
    const PoolView view{&own, max_concurrency};
    std::vector<const Component*> pools{&own};
    for (const Component& other : others) pools.push_back(&other);
    if (std::optional<Decision> ineligible = check_eligibility(request, view, pools))
      return *ineligible;
    return evaluate(request, view, input);
  }
};

driver::Resources instances(double count) {
  return driver::Resources({{"instances", count}});
}

TEST(DecisionTest, a_request_for_what_is_free_is_accepted) {
  EXPECT_EQ(Situation().decide().kind, Kind::accept);
}

TEST(DecisionTest, a_request_for_nothing_is_accepted) {
  Situation situation;
  situation.request.node_types.clear();
  EXPECT_EQ(situation.decide().kind, Kind::accept);
}

TEST(DecisionTest, only_requests_in_state_requested_are_decided) {
  for (const auto state : {model::RequestState::pending, model::RequestState::fulfilled,
                           model::RequestState::failed}) {
    Situation situation;
    situation.request.state = state;
    EXPECT_EQ(situation.decide().kind, Kind::ignore);
  }
}

TEST(DecisionTest, max_concurrency_zero_neither_accepts_nor_declines) {
  Situation situation;
  situation.max_concurrency = 0;
  EXPECT_EQ(situation.decide().kind, Kind::ignore);
  situation.request.node_types = {"unknown"};
  EXPECT_EQ(situation.decide().kind, Kind::ignore);
}

TEST(DecisionTest, launches_beyond_max_concurrency_wait) {
  Situation situation;
  situation.launches();
  situation.max_concurrency = 2;
  situation.input.active_launches = 1;
  EXPECT_EQ(situation.decide().kind, Kind::accept);
  situation.input.active_launches = 2;
  EXPECT_EQ(situation.decide().until, Until::launch_ends);
  situation.input.missing.clear();
  EXPECT_EQ(situation.decide().kind, Kind::accept) << "existing nodes need no launch";
}

TEST(DecisionTest, unknown_labels_are_declined_with_their_names) {
  Situation situation;
  situation.request.node_types = {"small", "zeta", "alpha"};
  const Decision decision = situation.decide();
  EXPECT_EQ(decision.kind, Kind::decline);
  EXPECT_EQ(sentence(decision.reason), "node type(s) [alpha,zeta] not available");
}

TEST(DecisionTest, an_unknown_label_is_declined_while_another_one_is_used_up) {
  Situation situation;
  situation.request.node_types = {"small", "unknown"};
  situation.input.missing = {"small", "unknown"};
  EXPECT_EQ(situation.decide().kind, Kind::decline);
}

TEST(DecisionTest, a_disabled_pool_declines) {
  Situation situation;
  situation.input.pool_limits["instances"] = 0;
  EXPECT_EQ(sentence(situation.decide().reason), "pool is disabled by max_servers");
}

TEST(DecisionTest, a_request_beyond_the_size_of_the_pool_is_declined) {
  Situation situation;
  situation.input.capacity["small"] = 2;
  situation.request.node_types = {"small", "small", "small"};
  const Decision decision = situation.decide();
  EXPECT_EQ(decision.kind, Kind::decline);
  EXPECT_EQ(sentence(decision.reason),
            "it would exceed quota: 3 nodes with label small requested, the pool has 2");
}

TEST(DecisionTest, a_request_for_more_than_a_thousand_nodes_is_declined) {
  Situation situation;
  situation.request.node_types.assign(1000, "small");
  EXPECT_EQ(situation.decide().kind, Kind::accept);
  situation.request.node_types.emplace_back("small");
  const Decision decision = situation.decide();
  EXPECT_EQ(decision.kind, Kind::decline);
  EXPECT_EQ(decision.reason.code, Reason::Code::too_many_nodes);
}

TEST(DecisionTest, a_request_waits_until_all_its_nodes_are_free) {
  Situation situation;
  situation.request.node_types = {"small", "large", "small"};
  situation.input.missing = {"small"};
  const Decision decision = situation.decide();
  EXPECT_EQ(decision.kind, Kind::wait);
  EXPECT_EQ(decision.until, Until::capacity_is_free);
  EXPECT_EQ(sentence(decision.reason), "1 of 2 nodes with label small are free");
  EXPECT_EQ(decision.shortage, Decision::Shortage::none);
}

TEST(DecisionTest, new_nodes_cannot_come_from_a_pool_that_launches_none) {
  Situation situation;
  situation.request.reuse = false;
  EXPECT_EQ(situation.decide().kind, Kind::decline);
  situation.launches();
  EXPECT_EQ(situation.decide().kind, Kind::accept);
}

TEST(DecisionTest, what_can_never_fit_into_the_limits_is_declined) {
  Situation situation;
  situation.request.node_types = {"small", "small"};
  situation.launches();
  situation.input.pool_limits["instances"] = 1;
  EXPECT_EQ(sentence(situation.decide().reason),
            "it would exceed quota: in this pool it needs instances 2, the limit is 1");
  situation.input.pool_limits["instances"] = 2;
  situation.input.provider_limits = driver::Limits{{"instances", 1}};
  EXPECT_EQ(sentence(situation.decide().reason),
            "it would exceed quota: in this provider it needs instances 2, the limit minus the "
            "usage of others is 1");
}

TEST(DecisionTest, a_request_over_the_limits_waits_and_names_the_limit) {
  Situation situation;
  situation.launches();
  situation.input.pool_limits["instances"] = 3;
  situation.input.used_by_pool = instances(2);
  EXPECT_EQ(situation.decide().kind, Kind::accept);
  situation.input.used_by_pool = instances(3);
  EXPECT_EQ(situation.decide().until, Until::capacity_is_free);
  EXPECT_NE(situation.decide().shortage, Decision::Shortage::none);
  EXPECT_EQ(sentence(situation.decide().reason),
            "the pool is full: instances: 3 used + 1 needed, limit 3");
  situation.input.used_by_pool = instances(0);
  situation.input.provider_limits = driver::Limits{{"instances", 5}};
  situation.input.used_by_provider = instances(5);
  EXPECT_EQ(sentence(situation.decide().reason),
            "the provider is full: instances: 5 used + 1 needed, limit 5");
}

TEST(DecisionTest, existing_nodes_need_no_capacity) {
  Situation situation;
  situation.launches();
  situation.input.missing.clear();
  situation.input.needs_of_missing = {};
  situation.input.pool_limits["instances"] = 3;
  situation.input.used_by_pool = instances(3);
  EXPECT_EQ(situation.decide().kind, Kind::accept);
}

TEST(DecisionTest, a_request_waits_while_the_quota_is_unknown) {
  Situation situation;
  situation.launches();
  situation.input.provider_limits.reset();
  EXPECT_EQ(sentence(situation.decide().reason), "the quota of the provider is not known yet");
  EXPECT_EQ(situation.decide().until, Until::quota_is_known) << "no pool pauses for that";
  situation.input.why_unknown = "no route to host";
  EXPECT_EQ(sentence(situation.decide().reason),
            "the quota of the provider is not known: no route to host");
  EXPECT_EQ(situation.decide().until, Until::capacity_is_free);
}

TEST(DecisionTest, a_request_for_a_label_waits_after_a_quota_rejection) {
  Situation situation;
  situation.launches();
  situation.input.refused = "small";
  EXPECT_EQ(situation.decide().until, Until::refusal_ends);
  EXPECT_EQ(situation.decide().shortage, Decision::Shortage::none)
      << "another node may have nothing that it lacks";
  EXPECT_EQ(sentence(situation.decide()),
            "waits: the provider has refused to launch another node with label small (until the "
            "launcher retries)");
}

TEST(DecisionTest, a_limit_that_is_reached_says_more_than_a_quota_rejection) {
  Situation situation;
  situation.launches();
  situation.input.refused = "small";
  situation.input.provider_limits = driver::Limits{{"instances", 5}};
  situation.input.used_by_provider = instances(5);
  EXPECT_EQ(situation.decide().reason.code, Reason::Code::provider_full);
  EXPECT_EQ(situation.decide().shortage, Decision::Shortage::provider);
}

TEST(DecisionTest, a_min_ready_request_does_not_wait_for_capacity) {
  Situation situation;
  situation.launches();
  situation.request.requestor = std::string(kMinReadyRequestor);
  situation.input.pool_limits["instances"] = 1;
  situation.input.used_by_pool = instances(1);
  EXPECT_EQ(situation.decide().kind, Kind::decline);
}

TEST(DecisionTest, a_tenant_at_its_limit_waits) {
  Situation situation;
  situation.launches();
  situation.request.tenant_name = "acme";
  situation.input.tenant_limits = driver::Limits{{"instances", 2}};
  situation.input.used_by_tenant = instances(1);
  EXPECT_EQ(situation.decide().kind, Kind::accept);
  situation.input.used_by_tenant = instances(2);
  EXPECT_EQ(situation.decide().until, Until::tenant_takes_less);
  EXPECT_EQ(sentence(situation.decide().reason),
            "tenant acme has reached its limit: instances: 2 used + 1 needed, limit 2");
  EXPECT_EQ(situation.decide().shortage, Decision::Shortage::tenant);
  situation.input.needs_of_tenant = {};
  EXPECT_EQ(situation.decide().kind, Kind::accept) << "it gets what counts for it already";
}

TEST(DecisionTest, a_request_beyond_its_tenants_limit_waits_until_that_is_raised) {
  Situation situation;
  situation.launches();
  situation.request.tenant_name = "acme";
  for (const double limit : {0.0, 0.5}) {
    situation.input.tenant_limits = driver::Limits{{"instances", limit}};
    const Decision decision = situation.decide();
    EXPECT_EQ(decision.kind, Kind::wait);
    EXPECT_EQ(decision.until, Until::tenant_limit_is_raised);
    EXPECT_EQ(decision.reason.code, Reason::Code::beyond_limit_of_tenant);
    EXPECT_EQ(decision.shortage, Decision::Shortage::none) << "no eviction helps";
  }
  EXPECT_EQ(sentence(situation.decide()),
            "waits: it would exceed quota: for its tenant it needs instances 1, the limit is 0.5 "
            "(until the tenant's limit is raised)");
  situation.input.pool_limits["instances"] = 0.5;
  EXPECT_EQ(situation.decide().kind, Kind::decline) << "no higher limit of the tenant helps";
}

TEST(DecisionTest, what_exceeds_its_tenants_limit_is_left_to_a_pool_that_may_need_less) {
  Situation situation;
  situation.launches();
  situation.request.tenant_name = "acme";
  situation.input.needs_of_all = driver::Resources({{"cores", 8}, {"instances", 1}});
  situation.input.tenant_limits = driver::Limits{{"cores", 4}};
  EXPECT_EQ(situation.decide().kind, Kind::wait) << "it is the last one";
  situation.input.others_defer = true;
  EXPECT_EQ(situation.decide().kind, Kind::decline);
  EXPECT_EQ(situation.decide().reason.code, Reason::Code::beyond_limit_of_tenant);
  situation.input.tenant_limits = driver::Limits{{"cores", 4}, {"instances", 1}};
  EXPECT_EQ(situation.decide().kind, Kind::decline);
  situation.input.tenant_limits = driver::Limits{{"cores", 4}, {"instances", 0}};
  EXPECT_EQ(situation.decide().kind, Kind::wait) << "no pool has nodes that are no instances";
}

TEST(DecisionTest, pools_that_could_serve_a_request_defer_to_a_better_one) {
  struct Row {
    Component other;
    bool defers;
    std::string preferred = {};
  };
  const Row rows[] = {
      {pool("p", "cloud", {"small"}, 101), true},
      {pool("p", "cloud", {"small"}, 100), false},
      {pool("p", "cloud", {"small"}, 99), false},
      {pool("p", "cloud", {"large"}, 101), false},
      {pool("declined", "cloud", {"small"}, 101), false},
      {pool("p", "cloud", {"small"}, 100), true, "rack"},
      {pool("p", "cloud", {"small"}, 99), true, "rack"},
      {pool("p", "cloud", {"small"}, 100), false, "cloud"},
      {pool("p", "rack", {"small"}, 100), false, "rack"},
      {pool("declined", "cloud", {"small"}, 100), false, "rack"},
  };
  for (const Row& row : rows) {
    NodeRequest request;
    request.node_types = {"small"};
    request.declined_by = {"declined"};
    if (!row.preferred.empty()) request.provider = row.preferred;
    const Component own = pool("own", "rack", {"small"});
    EXPECT_EQ(others_defer(request, own, {&own, &row.other}), row.defers)
        << row.other.id << " of " << row.other.provider_name << ", priority " << row.other.priority
        << ", preferred: " << row.preferred;
  }
}

TEST(DecisionTest, while_no_pool_is_known_to_be_registered_nothing_fails) {
  NodeRequest request;
  const Component own = pool("own", "rack", {"small"});
  request.declined_by = {"own"};
  EXPECT_TRUE(declined_by_all(request, {&own}));
  EXPECT_FALSE(declined_by_all(request, {}));
}

TEST(DecisionTest, a_starved_request_is_served_first) {
  Situation situation;
  situation.input.behind = "200-0000000000";
  EXPECT_EQ(situation.decide().until, Until::earlier_one_is_served);
  EXPECT_EQ(situation.decide().reason.subject, "200-0000000000");
  EXPECT_EQ(situation.decide().shortage, Decision::Shortage::none);
}

TEST(DecisionTest, launchers_of_one_pool_agree_on_the_preferred_launcher) {
  const std::vector<Component> some{pool("a", "rack", {"small"}), pool("b", "rack", {"small"}),
                                    pool("c", "rack", {"small"}), pool("d", "other", {"small"})};
  const std::vector<const Component*> pools{&some[0], &some[1], &some[2], &some[3]};
  const auto preferred_by = [&pools](const Component& own, const NodeRequest& request) {
    return preferred(request.id, peers(request, own, pools));
  };
  std::map<std::string, int> chosen;
  for (int i = 0; i < 300; ++i) {
    NodeRequest request;
    request.id = "200-" + std::to_string(i);
    request.node_types = {"small"};
    const std::string first = preferred_by(some[0], request);
    EXPECT_EQ(first, preferred_by(some[1], request));
    EXPECT_EQ(first, preferred_by(some[2], request));
    ++chosen[first];
    request.declined_by = {first};
    EXPECT_NE(preferred_by(first == "a" ? some[1] : some[0], request), first);
  }
  for (const auto& [id, count] : chosen) EXPECT_GT(count, 50) << id;
  EXPECT_EQ(chosen.size(), 3u);
}

TEST(DecisionTest, the_preferred_provider_goes_first_while_it_can) {
  Situation situation;
  situation.request.provider = "cloud";
  EXPECT_EQ(situation.decide().kind, Kind::accept) << "no pool of that provider";
  situation.others = {pool("c", "cloud", {"other"})};
  EXPECT_EQ(situation.decide().kind, Kind::accept) << "it lacks the label";
  situation.others = {pool("c", "cloud", {"small"})};
  EXPECT_EQ(situation.decide().until, Until::registry_changes);
  situation.request.declined_by = {"c"};
  EXPECT_EQ(situation.decide().kind, Kind::accept) << "it has declined";
  situation.request.declined_by.clear();
  situation.request.provider = "rack";
  EXPECT_EQ(situation.decide().kind, Kind::accept) << "it is our provider";
}

TEST(DecisionTest, the_preferred_provider_serves_although_another_one_has_a_better_priority) {
  Situation situation;
  situation.request.provider = "rack";
  situation.others = {pool("p", "cloud", {"small"}, 50)};
  EXPECT_EQ(situation.decide().kind, Kind::accept);
  std::swap(situation.own, situation.others[0]);
  EXPECT_EQ(situation.decide().reason.code, Reason::Code::prefers_other_provider)
      << "what the other one decides";
  std::swap(situation.own, situation.others[0]);
  situation.others.push_back(pool("q", "rack", {"small"}, 50));
  EXPECT_EQ(situation.decide().reason.code, Reason::Code::left_to_better_priority)
      << "a pool of the same provider";
}

TEST(DecisionTest, a_pool_with_a_lower_priority_number_goes_first_unless_it_is_paused) {
  Situation situation;
  situation.others = {pool("p", "cloud", {"small"}, 50)};
  EXPECT_EQ(situation.decide().until, Until::registry_changes);
  situation.others[0].paused = true;
  EXPECT_EQ(situation.decide().kind, Kind::accept);
  situation.others = {pool("p", "cloud", {"small"}, 100)};
  EXPECT_EQ(situation.decide().kind, Kind::accept) << "equal priority";
  situation.others = {pool("p", "cloud", {"large"}, 50)};
  EXPECT_EQ(situation.decide().kind, Kind::accept) << "it lacks the label";
}

TEST(DecisionTest, a_pool_without_the_label_declines_only_if_no_other_can_serve) {
  Situation situation;
  situation.request.node_types = {"special"};
  situation.others = {pool("p", "cloud", {"special"})};
  EXPECT_EQ(situation.decide().until, Until::registry_changes);
  situation.request.declined_by = {"p"};
  EXPECT_EQ(situation.decide().kind, Kind::decline);
}

TEST(DecisionTest, labels_spread_over_two_pools_are_declined_by_both) {
  Situation situation;
  situation.own.supported_labels = {"small"};
  situation.others = {pool("p", "cloud", {"large"})};
  situation.request.node_types = {"small", "large"};
  EXPECT_EQ(situation.decide().kind, Kind::decline);
}

TEST(DecisionTest, a_request_fails_when_the_last_pool_that_had_not_declined_is_gone) {
  Situation situation;
  situation.request.declined_by = {"own"};
  situation.others = {pool("p", "cloud", {"other"})};
  EXPECT_EQ(situation.decide().kind, Kind::wait);
  situation.others.clear();
  EXPECT_EQ(situation.decide().kind, Kind::fail);
}

TEST(DecisionTest, declined_by_all_counts_registered_pools_only) {
  NodeRequest request;
  request.declined_by = {"a", "gone"};
  const Component a = pool("a", "x", {});
  const Component b = pool("b", "y", {});
  EXPECT_TRUE(declined_by_all(request, {&a}));
  EXPECT_FALSE(declined_by_all(request, {&a, &b}));
}

}  // namespace
}  // namespace nodepool::planning
