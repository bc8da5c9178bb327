#include "page/trend_sampler.h"

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "telemetry/log_errors.h"

namespace nodepool::page {

namespace {

using async::Task;
using model::NodeState;
using Kind = Trends::Kind;
using Count = std::uint32_t Trends::Counts::*;

bool has_failed(const model::Node& node) {
  return node.state == NodeState::failed || node.state == NodeState::aborted;
}

void add_node(Trends::Sample& sample, const model::Node& node, Count count) {
  ++(sample[Kind::all][""].*count);
  if (node.provider) ++(sample[Kind::provider][*node.provider].*count);
  for (const std::string& label : node.type) ++(sample[Kind::label][label].*count);
}

// Null if the trends do not show nodes of this state.
Count count_of(NodeState state) {
  switch (state) {
    case NodeState::in_use:
      return &Trends::Counts::in_use;
    case NodeState::ready:
      return &Trends::Counts::ready;
    case NodeState::init:
    case NodeState::building:
    case NodeState::testing:
      return &Trends::Counts::launching;
    default:
      return nullptr;
  }
}

}  // namespace

TrendSampler::TrendSampler(const async::Runtime& runtime, model::Records& records,
                           const telemetry::Logger& log)
    : runtime_(runtime), records_(records), scope_(runtime, telemetry::log_errors(log)) {}

void TrendSampler::start() {
  scope_.spawn("trends of the status page", run());
}

Task<> TrendSampler::stop() {
  co_await scope_.stop();
}

Task<> TrendSampler::run() {
  co_await records_.until_ready();
  const coordination::Subscription changes =
      records_.nodes.observe([this](const model::NodeTable::Change& change) { on_change(change); });
  while (true) {
    if (records_.ready()) sample();
    const auto now = runtime_.clock.now().time_since_epoch();
    const auto next = std::chrono::floor<std::chrono::minutes>(now) + Trends::kInterval;
    co_await runtime_.clock.sleep_until(Trends::TimePoint(next));
  }
}

void TrendSampler::on_change(const model::NodeTable::Change& change) {
  if (change.after == nullptr || !has_failed(*change.after)) return;
  if (change.before != nullptr && has_failed(*change.before)) return;
  add_node(failures_, *change.after, &Trends::Counts::failed);
}

void TrendSampler::sample() {
  Trends::Sample sample = std::exchange(failures_, {});
  for (const auto& [id, node] : records_.nodes.all()) {
    const Count count = count_of(node.state);
    if (count != nullptr) add_node(sample, node, count);
  }
  for (const auto& [key, id] : records_.requests.waiting()) {
    const model::NodeRequest& request = *records_.requests.find(id);
    const std::set<std::string_view> labels(request.node_types.begin(), request.node_types.end());
    ++sample[Kind::all][""].waiting;
    for (const std::string_view label : labels) ++sample[Kind::label][std::string(label)].waiting;
  }
  trends_.add(runtime_.clock.now(), sample);
}

}  // namespace nodepool::page
