#include "page/trend_sampler.h"

#include <chrono>
#include <set>
#include <system_error>
#include <utility>

#include "page/trend_file.h"
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
                           async::ThreadPool& threads, const telemetry::Logger& log,
                           const std::optional<history::Journal>& history)
    : runtime_(runtime),
      records_(records),
      threads_(threads),
      log_(log),
      ahead_(std::chrono::duration_cast<async::Duration>(
                 std::chrono::duration<double>(runtime.clock.wall_seconds())) -
             runtime.clock.now().time_since_epoch()),
      scope_(runtime, telemetry::log_errors(log)) {
  if (history) file_ = trend_file(*history);
}

void TrendSampler::start() {
  scope_.spawn("trends of the status page", run());
}

Task<> TrendSampler::stop() {
  co_await scope_.stop();
}

std::shared_ptr<const std::string> TrendSampler::all(Kind kind) {
  std::shared_ptr<const std::string>& text = rendered_[kind];
  if (!text) {
    text = std::make_shared<const std::string>(
        trends_.all(kind, now(), runtime_.clock.wall_seconds()));
  }
  return text;
}

Task<> TrendSampler::run() {
  if (file_) co_await read();
  co_await records_.until_ready();
  const coordination::Subscription changes =
      records_.nodes.observe([this](const model::NodeTable::Change& change) { on_change(change); });
  while (true) {
    if (records_.ready()) {
      const Trends::Sample taken = sample();
      trends_.add(now(), taken);
      rendered_.clear();
      if (file_) co_await write(to_line(runtime_.clock.wall_seconds(), taken));
    }
    const auto minute = std::chrono::floor<std::chrono::minutes>(now().time_since_epoch());
    const Trends::TimePoint next(minute + Trends::kInterval);
    co_await runtime_.clock.sleep_until(next - ahead_);
  }
}

Task<> TrendSampler::read() {
  auto call = [file = *file_, now = now(), wall = runtime_.clock.wall_seconds()] {
    return read_trends(file, now, wall);
  };
  try {
    trends_ = co_await threads_.run("reading the trends", std::move(call));
    rendered_.clear();
  } catch (const std::system_error& error) {
    log_.warning("Cannot read the trends of the status page: {}", error.what());
  }
}

// Says once that the disk is full.
Task<> TrendSampler::write(std::string line) {
  auto call = [file = *file_, line = std::move(line)] { history::append(file, line); };
  std::string failure;
  try {
    co_await threads_.run("writing the trends", std::move(call));
  } catch (const std::system_error& error) {
    failure = error.what();
  }
  if (!failure.empty() && !is_failing_) {
    log_.warning("Cannot keep the trends of the status page: {}", failure);
  }
  is_failing_ = !failure.empty();
}

void TrendSampler::on_change(const model::NodeTable::Change& change) {
  if (change.after == nullptr || !has_failed(*change.after)) return;
  if (change.before != nullptr && has_failed(*change.before)) return;
  add_node(failures_, *change.after, &Trends::Counts::failed);
}

Trends::Sample TrendSampler::sample() {
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
  return sample;
}

}  // namespace nodepool::page
