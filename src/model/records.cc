#include "model/records.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "async/event.h"
#include "coordination/tree.h"
#include "model/paths.h"

namespace nodepool::model {

namespace {

using async::Task;
using Kind = Records::Kind;

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::nodes:
      return "nodes";
    case Kind::requests:
      return "requests";
    case Kind::components:
      return "components";
    case Kind::images:
      return "images";
    case Kind::hosts:
      return "hosts";
  }
  return {};
}

std::vector<std::string_view> roots_of(Kind kind) {
  switch (kind) {
    case Kind::nodes:
      return {kNodesRoot};
    case Kind::requests:
      return {kRequestsRoot, kRequestLocksRoot};
    case Kind::components:
      return {kComponentsRoot};
    case Kind::images:
      return {kImagesRoot};
    case Kind::hosts:
      return {kHostsRoot};
  }
  return {};
}

}  // namespace

Records::Records(const async::Runtime& runtime, coordination::Store& store,
                 const telemetry::Logger& log)
    : nodes(runtime, store, log.child("zk.nodes")),
      requests(runtime, store, log.child("zk.requests")),
      components(runtime, store, log.child("zk.components")),
      images(runtime, store, log.child("zk.images")),
      hosts(runtime, store, log.child("zk.hosts")),
      runtime_(runtime),
      store_(store),
      tables_{{Kind::nodes, &nodes},
              {Kind::requests, &requests},
              {Kind::components, &components},
              {Kind::images, &images},
              {Kind::hosts, &hosts}} {}

Task<> Records::make_roots(Kinds kinds) {
  for (const Kind kind : kinds) {
    for (const std::string_view root : roots_of(kind)) {
      co_await coordination::ensure_path(store_, std::string(root));
    }
  }
}

void Records::follow(async::TaskScope& scope, const Kinds& kinds) {
  for (const Kind kind : kinds) {
    if (followed_.insert(kind).second)
      scope.spawn("table of " + name_of(kind), tables_.at(kind)->run());
  }
}

bool Records::ready() const {
  return std::ranges::all_of(followed_, [this](Kind kind) { return tables_.at(kind)->ready(); });
}

coordination::Subscription Records::observe_readiness(std::function<void(bool)> observer) {
  const auto on_readiness = [this, observer = std::move(observer)](bool) { observer(ready()); };
  auto subscriptions = std::make_shared<std::vector<coordination::Subscription>>();
  for (const Kind kind : followed_) {
    subscriptions->push_back(tables_.at(kind)->observe_readiness(on_readiness));
  }
  return subscriptions;
}

coordination::Subscription Records::observe_ready(std::function<void()> observer) {
  return observe_readiness([observer = std::move(observer)](bool is_ready) {
    if (is_ready) observer();
  });
}

Task<> Records::until_ready() {
  async::Event complete("the tables are complete");
  const coordination::Subscription subscription = observe_ready([&complete] { complete.set(); });
  while (!ready()) co_await complete.wait();
}

Task<bool> Records::ready_by(async::Clock::TimePoint deadline) {
  async::Event complete("the tables are complete");
  const coordination::Subscription subscription = observe_ready([&complete] { complete.set(); });
  while (!ready() && co_await complete.wait_until(runtime_.clock, deadline)) {
  }
  co_return ready();
}

Task<> Records::pause_before_retry(async::Duration pause) {
  async::Event back("the store is back");
  const coordination::Subscription subscription = observe_ready([&back] { back.set(); });
  co_await back.wait_until(runtime_.clock, runtime_.clock.now() + pause);
}

}  // namespace nodepool::model
