#include "tests/integration/zookeeper/load.h"

#include <chrono>
#include <memory>
#include <utility>

#include "requestor/error.h"
#include "requestor/held_nodes.h"
#include "requestor/request.h"
#include "tests/support/patience.h"

namespace nodepool::integration {

namespace {}  // namespace

Load::Load(const async::Runtime& runtime, coordination::zookeeper::ZooKeeperOptions options,
           int requests)
    : runtime_(runtime), options_(std::move(options)), requests_(requests) {}

void Load::start(async::TaskScope& scope, int clients) {
  for (int i = 0; i < clients; ++i) scope.spawn("client " + std::to_string(i), client());
}

Task<> Load::client() {
  while (begun_ < requests_) {
    std::unique_ptr<coordination::Store> store;
    try {
      store = co_await coordination::zookeeper::open_store(runtime_, options_);
    } catch (const coordination::StoreError& error) {
      troubles_.emplace_back(error.what());
      continue;
    }
    bool good = true;
    while (good && begun_ < requests_) {
      ++begun_;
      good = co_await serve_requests(*store);
    }
    try {
      co_await store->close();
    } catch (const coordination::StoreError& error) {
      troubles_.emplace_back(error.what());
    }
  }
}

Task<bool> Load::serve_requests(coordination::Store& store) {
  try {
    co_await one_request(store);
    co_return true;
  } catch (const requestor::RequestError& error) {
    // The launcher that had answered is gone, or the answer came too late.
    troubles_.emplace_back(error.what());
  } catch (const coordination::StoreError& error) {
    troubles_.emplace_back(error.what());
  }
  --begun_;
  co_return false;
}

Task<> Load::one_request(coordination::Store& store) {
  requestor::NodeRequestSpec request_spec;
  request_spec.labels = {"a"};
  request_spec.requestor = "test";
  const std::string id =
      co_await requestor::create_request(runtime_, store, std::move(request_spec));
  requestor::Progress progress = [](const model::NodeRequest&) {};
  requestor::Result answer = co_await requestor::await_result(
      runtime_, store, id, runtime_.clock.now() + test_support::kPatience, std::move(progress));
  if (answer.kind != requestor::Result::Kind::fulfilled) {
    ++failed_;
    co_return;
  }
  requestor::HeldNodes nodes(runtime_, store);
  co_await nodes.accept(std::move(answer.request));
  for (const model::Node& node : nodes.nodes()) {
    if (!held_.insert(node.id).second) ++served_twice_;
  }
  // Others get their turn while this one has its node.
  co_await runtime_.clock.sleep_for(std::chrono::milliseconds(1));
  for (const model::Node& node : nodes.nodes()) held_.erase(node.id);
  co_await nodes.release();
  ++served_;
}

}  // namespace nodepool::integration
