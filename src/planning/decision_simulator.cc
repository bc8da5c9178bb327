#include "planning/decision_simulator.h"

#include <utility>

namespace nodepool::planning {

using model::NodeRequest;

DecisionSimulator::DecisionSimulator(Records records, const model::Component& own,
                                     const driver::ProviderConfig& provider,
                                     std::shared_ptr<const driver::Offer> offer, QuotaFacts quota)
    : records_(std::move(records)),
      own_(own),
      provider_(provider),
      offer_(std::move(offer)),
      identity_{own.id, own.provider_name, own.name},
      quota_(std::move(quota)),
      stock_(records_.nodes, identity_) {
  stock_.reconfigure(offer_->pool(own_.name).inventory);
  launches_->begin({}, quota_.launches_under_way);  // of requests that no longer wait
}

std::optional<Decision> DecisionSimulator::decision_about(const std::string& request_id) {
  if (!decisions_.contains(request_id)) decide_until(request_id);
  const auto decision = decisions_.find(request_id);
  return decision == decisions_.end() ? std::nullopt : std::optional(decision->second);
}

void DecisionSimulator::decide_until(const std::string& request_id) {
  const auto& waiting = records_.requests.waiting();
  auto next = last_ ? waiting.upper_bound(*last_) : waiting.begin();
  for (; next != waiting.end() && !decisions_.contains(request_id); ++next) {
    last_ = next->first;
    decisions_.emplace(next->second, decide_next(*records_.requests.find(next->second)));
  }
}

Decision DecisionSimulator::decide_next(const NodeRequest& request) {
  QuotaFacts quota = quota_;
  quota.launches_under_way = launches_->under_way();
  queue_.advance_to(records_.now);
  Verdict verdict = decide(request, {.own = own_,
                                     .pools = records_.pools,
                                     .provider = provider_,
                                     .offer = offer_,
                                     .quota = std::move(quota),
                                     .tenant_limits = records_.tenant_limits,
                                     .usage = records_.usage,
                                     .stock = stock_,
                                     .queue = queue_,
                                     .starved = starved_,
                                     .nodes = records_.nodes,
                                     .requests = records_.requests,
                                     .requests_in_progress = reservations_.size(),
                                     .expected_pool = records_.expected_pool});
  if (verdict.decision.kind == Decision::Kind::accept) {
    reservations_.push_back(std::make_unique<Reservation>(
        stock_, records_.usage, launches_, identity_, request.id, request.tenant_name.value_or(""),
        std::move(verdict.reservation)));
  } else if (verdict.decision.kind == Decision::Kind::wait) {
    queue_.wait(request.service_key(), request, verdict.decision, {records_.now, records_.now});
  }
  return std::move(verdict.decision);
}

}  // namespace nodepool::planning
