#include "launcher/decision.h"

#include <gtest/gtest.h>

#include <map>

namespace nodepool::launcher {
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

// One situation: "own" is the pool that decides.
struct Situation {
  NodeRequest request;
  Component own = pool("own", "rack", {"small", "large"});
  std::vector<Component> others;
  std::map<std::string, LabelSupply, std::less<>> supply{{"small", {1, 1}}, {"large", {1, 1}}};
  PoolView view;

  Situation() {
    request.id = "200-0000000001";
    request.node_types = {"small"};
  }

  Decision decide() {
    view.id = own.id;
    view.provider = own.provider_name;
    view.component = &own;
    std::vector<const Component*> pools{&own};
    for (const Component& other : others) pools.push_back(&other);
    return launcher::decide(request, view, pools, [this](std::string_view label) {
      const auto found = supply.find(label);
      return found == supply.end() ? LabelSupply{0, 0} : found->second;
    });
  }
};

TEST(DecisionTest, a_request_for_what_is_free_is_accepted) {
  EXPECT_EQ(Situation().decide().kind, Kind::accept);
}

TEST(DecisionTest, a_request_for_nothing_is_accepted) {
  Situation situation;
  situation.request.node_types.clear();
  EXPECT_EQ(situation.decide().kind, Kind::accept);
}

TEST(DecisionTest, only_requested_requests_are_anyones_business) {
  for (const auto state : {model::RequestState::pending, model::RequestState::fulfilled,
                           model::RequestState::failed}) {
    Situation situation;
    situation.request.state = state;
    EXPECT_EQ(situation.decide().kind, Kind::ignore);
  }
}

TEST(DecisionTest, max_concurrency_zero_neither_accepts_nor_declines) {
  Situation situation;
  situation.view.max_concurrency = 0;
  EXPECT_EQ(situation.decide().kind, Kind::ignore);
  situation.request.node_types = {"unknown"};
  EXPECT_EQ(situation.decide().kind, Kind::ignore);
}

TEST(DecisionTest, launches_beyond_max_concurrency_wait) {
  Situation situation;
  situation.view.max_concurrency = 2;
  situation.view.active_launches = 1;
  EXPECT_EQ(situation.decide().kind, Kind::accept);
  situation.view.active_launches = 2;
  EXPECT_EQ(situation.decide().until, Until::launch_slot_is_free);
}

TEST(DecisionTest, unknown_labels_are_declined_with_their_names) {
  Situation situation;
  situation.request.node_types = {"small", "zeta", "alpha"};
  const Decision decision = situation.decide();
  EXPECT_EQ(decision.kind, Kind::decline);
  EXPECT_EQ(decision.reason, "node type(s) [alpha,zeta] not available");
}

TEST(DecisionTest, a_label_that_nobody_has_is_declined_even_while_another_one_is_used_up) {
  Situation situation;
  situation.supply["small"].free = 0;
  situation.request.node_types = {"small", "unknown"};
  EXPECT_EQ(situation.decide().kind, Kind::decline);
}

TEST(DecisionTest, a_disabled_pool_declines) {
  Situation situation;
  situation.view.max_servers = 0;
  EXPECT_EQ(situation.decide().reason, "pool is disabled by max_servers");
}

TEST(DecisionTest, more_than_there_will_ever_be_is_declined) {
  Situation situation;
  situation.supply["small"] = {2, 2};
  situation.request.node_types = {"small", "small", "small"};
  const Decision decision = situation.decide();
  EXPECT_EQ(decision.kind, Kind::decline);
  EXPECT_EQ(decision.reason,
            "it would exceed quota: 3 nodes with label small wanted, the pool has 2");
}

TEST(DecisionTest, a_request_waits_until_all_its_nodes_are_free) {
  Situation situation;
  situation.supply["small"] = {1, 2};
  situation.request.node_types = {"small", "large", "small"};
  const Decision decision = situation.decide();
  EXPECT_EQ(decision.kind, Kind::wait);
  EXPECT_EQ(decision.until, Until::label_is_available);
  EXPECT_EQ(decision.label, "small");
  EXPECT_EQ(decision.reason, "1 of 2 nodes with label small are free");
}

TEST(DecisionTest, new_nodes_cannot_come_from_a_pool_that_launches_none) {
  Situation situation;
  situation.request.reuse = false;
  EXPECT_EQ(situation.decide().kind, Kind::decline);
  situation.view.launches_nodes = true;
  EXPECT_EQ(situation.decide().kind, Kind::accept);
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

TEST(DecisionTest, who_lacks_a_label_declines_only_when_nobody_else_can_serve) {
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
}  // namespace nodepool::launcher
