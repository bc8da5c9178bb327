#include "drivers/libvirt/host_line.h"

#include <fmt/format.h>

namespace nodepool::drivers::libvirt {

using async::Task;
using driver::CloudError;

namespace {

using namespace std::chrono_literals;

constexpr driver::PollIntervals kPolls{.unknown = 2s, .least = 500ms};

constexpr auto kReadDeadline = 10s;
constexpr auto kChangeDeadline = 50s;
constexpr auto kStartDeadline = 180s;
constexpr auto kPatience = 2min;
constexpr auto kReturn = 15min;
constexpr auto kFailureMemory = 5min;

// A host that failed is not polled for so many times as long as its failure took, so that one
// that hangs seldom delays what waits for all hosts.
constexpr int kAwayFactor = 3;

}  // namespace

HostLine::HostLine(const driver::ProviderContext& context, const LibvirtConfig& config,
                   HostConfig host, HostQuery query, HostMaker make)
    : runtime_(context.runtime),
      log_(context.log),
      config_(std::move(host)),
      query_(std::move(query)),
      thread_(std::make_shared<Thread>(make)),
      query_thread_(std::make_shared<Thread>(std::move(make))),
      threads_(context.threads.beside(2, "libvirt")),
      tasks_(context.runtime, threads_, config.name() + "/" + config_.name,
             {.calls_per_second = config.rate(), .deadline = kStartDeadline + 10s}, context.metrics,
             context.log),
      queries_(context.runtime, threads_, config.name() + "/" + config_.name + "/state",
               {.calls_per_second = config.rate()}, context.metrics, context.log),
      states_(context.runtime, "domains of a host", kPolls, [this] { return ask(); }) {}

void HostLine::start() {
  tasks_.start();
  queries_.start();
}

Task<> HostLine::stop() {
  co_await states_.stop();
  co_await queries_.stop();
  co_await tasks_.stop();
}

std::chrono::seconds HostLine::deadline_of(Effect effect) {
  if (effect == Effect::starts) return kStartDeadline;
  return effect == Effect::reads ? kReadDeadline : kChangeDeadline;
}

CloudError HostLine::stuck(const std::string& host) {
  return {CloudError::Kind::transient,
          fmt::format("host {}: {} earlier calls have not returned", host, Thread::kMaxLeft)};
}

CloudError HostLine::timed_out(const std::string& host, Effect effect) {
  const auto kind =
      effect == Effect::reads ? CloudError::Kind::transient : CloudError::Kind::unknown_outcome;
  return {kind,
          fmt::format("host {} has not responded for {} s", host, deadline_of(effect).count())};
}

Task<HostState> HostLine::ask() {
  if (runtime_.clock.now() < away_until_) throw CloudError(CloudError::Kind::transient, failure_);
  std::optional<HostState> state;
  std::string failure;
  const auto begun = runtime_.clock.now();
  try {
    auto read = [query = query_](Hypervisor& host) { return host.state(query); };
    state =
        co_await queries_.submit("state", guarded(query_thread_, Effect::reads, std::move(read)));
  } catch (const CloudError& error) {
    failure = error.what();
  }
  if (state) {
    if (!failure_.empty()) log_.info("Host {} responds again", config_.name);
    failure_.clear();
    last_ = std::make_shared<const HostState>(*state);
    co_return std::move(*state);
  }
  if (failure_.empty()) {
    log_.warning("Host {} does not respond: {}", config_.name, failure);
    away_since_ = begun;
  }
  failure_ = std::move(failure);
  const auto now = runtime_.clock.now();
  away_until_ = now + kAwayFactor * (now - begun);
  throw CloudError(CloudError::Kind::transient, failure_);
}

bool HostLine::is_lost() const {
  return !failure_.empty() && runtime_.clock.now() - away_since_ > kPatience;
}

bool HostLine::may_be_back() const {
  return failure_.empty() || runtime_.clock.now() - away_since_ < kReturn;
}

void HostLine::launch_failed() {
  if (failure_.empty()) launch_failed_ = runtime_.clock.now();
}

bool HostLine::has_failed_lately() const {
  return launch_failed_ && runtime_.clock.now() - *launch_failed_ < kFailureMemory;
}

}  // namespace nodepool::drivers::libvirt
