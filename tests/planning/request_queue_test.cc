#include "planning/request_queue.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace nodepool::planning {
namespace {

using ServiceKey = RequestQueue::ServiceKey;
using Until = Decision::Until;
using model::NodeRequest;

NodeRequest request(int number, std::vector<std::string> labels, std::string tenant = {}) {
  NodeRequest request;
  request.id = fmt::format("200-{:010}", number);
  request.node_types = std::move(labels);
  if (!tenant.empty()) request.tenant_name = std::move(tenant);
  return request;
}

// More evaluations than any test needs. Detects groups that wake each other endlessly.
constexpr std::size_t kEnough = 100;

class RequestQueueTest : public testing::Test {
 protected:
  void wait(const NodeRequest& request, Until until) {
    queue_.wait(request.service_key(), request, {.kind = Decision::Kind::wait, .until = until},
                now_);
  }

  void wait_behind(const NodeRequest& request, const NodeRequest& earlier) {
    queue_.wait(request.service_key(), request,
                {.kind = Decision::Kind::wait,
                 .until = Until::earlier_one_is_served,
                 .reason = {Reason::Code::comes_after, earlier.id}},
                now_);
  }

  std::optional<ServiceKey> first_starved(const ServiceKey& key, double now,
                                          const std::set<std::string, std::less<>>* labels) {
    queue_.advance_to(now);
    return queue_.first_starved(key, labels);
  }

  // Evaluates all that are due; each waits again for the same.
  std::vector<ServiceKey> evaluate_due(Until until, const std::vector<NodeRequest>& requests) {
    std::vector<ServiceKey> seen;
    while (const std::optional<ServiceKey> key = queue_.next()) {
      seen.push_back(*key);
      if (seen.size() > kEnough) break;
      for (const NodeRequest& request : requests) {
        if (request.service_key() == *key) wait(request, until);
      }
    }
    return seen;
  }

  RequestQueue queue_;
  RequestQueue::Moment now_;
};

TEST_F(RequestQueueTest, due_requests_come_in_order_of_service) {
  const NodeRequest first = request(1, {"a"});
  const NodeRequest second = request(2, {"b"});
  queue_.enqueue(second.service_key());
  queue_.enqueue(first.service_key());
  EXPECT_EQ(queue_.next(), first.service_key());
  EXPECT_EQ(queue_.next(), second.service_key());
  EXPECT_EQ(queue_.next(), std::nullopt);
}

TEST_F(RequestQueueTest, events_that_wake_no_request_leave_nothing_due) {
  const NodeRequest room = request(1, {"a"});
  EXPECT_FALSE(queue_.has_next());
  queue_.enqueue(room.service_key());
  EXPECT_TRUE(queue_.has_next());
  EXPECT_EQ(queue_.next(), room.service_key());
  wait(room, Until::capacity_is_free);
  queue_.label_is_free("b");
  queue_.tenant_takes_less("acme");
  EXPECT_FALSE(queue_.has_next());
  queue_.capacity_has_grown();
  EXPECT_TRUE(queue_.has_next());
}

TEST_F(RequestQueueTest, of_equal_requests_only_the_first_is_evaluated) {
  const std::vector<NodeRequest> requests{request(1, {"a"}), request(2, {"a"}), request(3, {"b"}),
                                          request(4, {"b", "a"}), request(5, {"a", "b"})};
  for (const NodeRequest& each : requests) wait(each, Until::capacity_is_free);
  queue_.capacity_has_grown();
  EXPECT_EQ(evaluate_due(Until::capacity_is_free, requests),
            (std::vector{requests[0].service_key(), requests[2].service_key(),
                         requests[3].service_key()}));
}

TEST_F(RequestQueueTest, once_the_first_is_served_the_next_is_evaluated) {
  const std::vector<NodeRequest> requests{request(1, {"a"}), request(2, {"a"})};
  for (const NodeRequest& each : requests) wait(each, Until::capacity_is_free);
  queue_.capacity_has_grown();
  EXPECT_EQ(queue_.next(), requests[0].service_key()) << "and is served: it does not wait again";
  EXPECT_EQ(queue_.next(), requests[1].service_key());
}

TEST_F(RequestQueueTest, a_request_behind_a_served_one_is_evaluated_as_well) {
  const NodeRequest first = request(1, {"a"});
  const NodeRequest second = request(2, {"a"});
  wait_behind(second, request(0, {"a"}));  // deleted before the first one waits for capacity
  wait(first, Until::capacity_is_free);
  queue_.enqueue(first.service_key());
  EXPECT_EQ(queue_.next(), first.service_key());
  queue_.remove(first.service_key());  // served
  EXPECT_EQ(queue_.next(), second.service_key());
}

TEST_F(RequestQueueTest, an_event_wakes_the_requests_that_wait_for_it) {
  const NodeRequest room = request(1, {"a"});
  const NodeRequest registry = request(2, {"b"});
  const NodeRequest launch = request(3, {"c"});
  const NodeRequest tenant = request(4, {"d"}, "acme");
  wait(room, Until::capacity_is_free);
  wait(registry, Until::registry_changes);
  wait(launch, Until::launch_ends);
  wait(tenant, Until::tenant_takes_less);
  queue_.registry_has_changed();
  EXPECT_EQ(queue_.next(), registry.service_key());
  EXPECT_EQ(queue_.next(), std::nullopt);
  queue_.launch_has_ended();
  EXPECT_EQ(queue_.next(), launch.service_key());
  EXPECT_EQ(queue_.next(), std::nullopt);
  queue_.tenant_takes_less("other");
  EXPECT_EQ(queue_.next(), std::nullopt);
  queue_.tenant_takes_less("acme");
  EXPECT_EQ(queue_.next(), tenant.service_key());
  queue_.label_is_free("z");
  EXPECT_EQ(queue_.next(), std::nullopt);
  queue_.label_is_free("a");
  EXPECT_EQ(queue_.next(), room.service_key());
}

TEST_F(RequestQueueTest, requests_with_declines_are_evaluated_separately) {
  NodeRequest declined = request(1, {"a"});
  declined.declined_by = {"pool"};
  const NodeRequest fresh = request(2, {"a"});
  wait(declined, Until::registry_changes);
  wait(fresh, Until::registry_changes);
  queue_.registry_has_changed();
  EXPECT_EQ(evaluate_due(Until::registry_changes, {declined, fresh}),
            (std::vector{declined.service_key(), fresh.service_key()}));
}

TEST_F(RequestQueueTest, a_removed_request_unblocks_those_behind_it) {
  const NodeRequest large = request(1, {"a", "a"});
  const NodeRequest small = request(2, {"a"});
  const NodeRequest other = request(3, {"b"});
  wait(large, Until::capacity_is_free);
  wait_behind(small, large);
  wait(other, Until::capacity_is_free);
  EXPECT_TRUE(queue_.is_short_of_capacity());
  queue_.remove(large.service_key());
  EXPECT_EQ(queue_.next(), small.service_key());
  EXPECT_EQ(queue_.next(), std::nullopt) << "to the other it is nothing";
  queue_.remove(other.service_key());
  EXPECT_FALSE(queue_.is_short_of_capacity());
}

TEST_F(RequestQueueTest, a_request_that_stops_waiting_for_capacity_unblocks_those_behind_it) {
  const NodeRequest large = request(1, {"a", "a"}, "acme");
  const NodeRequest small = request(2, {"a"});
  wait(large, Until::capacity_is_free);
  wait_behind(small, large);
  queue_.capacity_has_grown();
  EXPECT_EQ(queue_.next(), large.service_key());
  wait(large, Until::capacity_is_free);
  EXPECT_EQ(queue_.next(), std::nullopt) << "it is still served first";
  queue_.capacity_has_grown();
  EXPECT_EQ(queue_.next(), large.service_key());
  wait(large, Until::tenant_takes_less);
  EXPECT_EQ(queue_.next(), small.service_key());
}

// What the provider refuses to launch says nothing about other labels.
TEST_F(RequestQueueTest, a_request_with_a_refused_label_is_passed_by_others) {
  const NodeRequest refused = request(1, {"a"});
  const NodeRequest other = request(2, {"b"});
  wait(refused, Until::capacity_is_free);
  wait_behind(other, refused);
  queue_.capacity_has_grown();
  EXPECT_EQ(queue_.next(), refused.service_key());
  wait(refused, Until::refusal_ends);
  EXPECT_EQ(queue_.next(), other.service_key());
  queue_.remove(other.service_key());
  EXPECT_EQ(first_starved(other.service_key(), 1000, nullptr), std::nullopt);
  EXPECT_TRUE(queue_.is_short_of_capacity()) << "other pools may serve it";
  queue_.capacity_has_grown();
  EXPECT_EQ(queue_.next(), std::nullopt);
  queue_.refusal_has_ended();
  EXPECT_EQ(queue_.next(), refused.service_key());
  queue_.remove(refused.service_key());
  EXPECT_FALSE(queue_.is_short_of_capacity());
}

TEST_F(RequestQueueTest, queues_that_waited_for_each_other_do_not_wake_each_other_forever) {
  const NodeRequest first = request(1, {"a"});
  const NodeRequest second = request(2, {"b"});
  const NodeRequest behind_first = request(3, {"b"});
  const NodeRequest behind_second = request(4, {"a"});
  wait(first, Until::capacity_is_free);
  wait(second, Until::capacity_is_free);
  wait_behind(behind_first, first);
  wait_behind(behind_second, second);
  queue_.capacity_has_grown();
  EXPECT_LE(evaluate_due(Until::registry_changes, {first, second}).size(), 4U);
}

TEST_F(RequestQueueTest, other_pools_and_smaller_labels_may_help_what_exceeds_its_tenants_limit) {
  const NodeRequest large = request(1, {"a"}, "acme");
  wait(large, Until::tenant_limit_is_raised);
  queue_.capacity_has_grown();
  queue_.tenant_takes_less("acme");
  EXPECT_EQ(queue_.next(), std::nullopt) << "it would not fit even then";
  queue_.provider_has_answered();
  EXPECT_EQ(evaluate_due(Until::tenant_limit_is_raised, {large}), std::vector{large.service_key()});
  queue_.registry_has_changed();
  EXPECT_EQ(queue_.next(), large.service_key());
}

TEST_F(RequestQueueTest, limits_of_every_kind_may_allow_more) {
  const NodeRequest room = request(1, {"a"});
  const NodeRequest tenant = request(2, {"b"}, "acme");
  const NodeRequest other_tenant = request(3, {"b"}, "globex");
  const NodeRequest launch = request(4, {"c"});
  wait(room, Until::capacity_is_free);
  wait(tenant, Until::tenant_takes_less);
  wait(other_tenant, Until::tenant_takes_less);
  wait(launch, Until::launch_ends);
  queue_.limits_may_allow_more();
  EXPECT_EQ(evaluate_due(Until::launch_ends, {}),
            (std::vector{room.service_key(), tenant.service_key(), other_tenant.service_key()}));
}

TEST_F(RequestQueueTest, a_request_that_waited_a_minute_for_capacity_is_starved) {
  NodeRequest first = request(1, {"a"});
  NodeRequest second = request(2, {"b"});
  first.stat.ctime = 100'000;  // milliseconds
  second.stat.ctime = 90'000;
  now_ = {.wall = 100, .steady = 100};
  wait(first, Until::capacity_is_free);
  wait(second, Until::capacity_is_free);
  const ServiceKey later = request(3, {"a"}).service_key();
  const std::set<std::string, std::less<>> only_a{"a"};
  EXPECT_EQ(first_starved(later, 149.9, nullptr), std::nullopt);
  EXPECT_EQ(first_starved(later, 150, nullptr), second.service_key());
  EXPECT_EQ(first_starved(later, 150, &only_a), std::nullopt);
  EXPECT_EQ(first_starved(later, 160, nullptr), first.service_key());
  EXPECT_EQ(first_starved(later, 160, &only_a), first.service_key());
  EXPECT_EQ(first_starved(first.service_key(), 160, nullptr), std::nullopt) << "who is before it?";
  queue_.remove(first.service_key());
  EXPECT_EQ(first_starved(later, 160, nullptr), second.service_key());
  queue_.capacity_has_grown();
  EXPECT_EQ(queue_.next(), second.service_key());
  EXPECT_EQ(first_starved(later, 160, nullptr), std::nullopt);
}

TEST_F(RequestQueueTest, the_wait_does_not_depend_on_a_clock_that_is_set_back) {
  NodeRequest old = request(1, {"a"});
  NodeRequest created_later = request(2, {"b"});
  old.stat.ctime = 9'990'000;
  created_later.stat.ctime = 10'020'000;  // by the store's clock
  const ServiceKey later = request(3, {"a"}).service_key();
  EXPECT_EQ(queue_.waited(old.service_key(), 500), 0);
  now_ = {.wall = 10'000, .steady = 500};
  wait(old, Until::capacity_is_free);
  EXPECT_EQ(queue_.waited(old.service_key(), 500), 10);
  now_ = {.wall = 6'420, .steady = 520};  // set back by an hour
  queue_.enqueue(old.service_key());
  EXPECT_EQ(queue_.next(), old.service_key());
  wait(old, Until::capacity_is_free);
  wait(created_later, Until::capacity_is_free);
  EXPECT_EQ(queue_.waited(old.service_key(), 520), 30);
  EXPECT_EQ(queue_.waited(created_later.service_key(), 520), 0);
  EXPECT_EQ(first_starved(later, 549, nullptr), std::nullopt);
  EXPECT_EQ(first_starved(later, 550, nullptr), old.service_key());
  queue_.remove(old.service_key());
  EXPECT_EQ(queue_.waited(old.service_key(), 550), 0);
  EXPECT_EQ(first_starved(later, 579, nullptr), std::nullopt);
  EXPECT_EQ(first_starved(later, 580, nullptr), created_later.service_key());
}

// With that many shapes, quadratic algorithms would take too long.
TEST_F(RequestQueueTest, an_event_costs_nothing_for_unrelated_requests) {
  constexpr int kShapes = 50'000;
  std::vector<NodeRequest> requests;
  for (int i = 0; i < kShapes; ++i) {
    const std::string name = std::to_string(i);
    requests.push_back(request(i, {"label" + name}, "tenant" + name));
    wait(requests.back(), i % 2 == 0 ? Until::capacity_is_free : Until::tenant_takes_less);
  }
  for (int i = 0; i < kShapes; ++i) {
    const std::string name = std::to_string(i);
    queue_.label_is_free("label" + name);
    queue_.tenant_takes_less("tenant" + name);
    EXPECT_EQ(queue_.next(), requests[static_cast<std::size_t>(i)].service_key());
    EXPECT_EQ(queue_.next(), std::nullopt);
    EXPECT_EQ(first_starved(requests.back().service_key(), 59, nullptr), std::nullopt);
    wait(requests[static_cast<std::size_t>(i)], Until::launch_ends);
  }
}

}  // namespace
}  // namespace nodepool::planning
