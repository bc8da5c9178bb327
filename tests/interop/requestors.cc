// Requestors that do not give up while servers and launchers die: each asks for a node, holds it
// for a while, gives it back and asks again.
//
//   requestors PORT[,PORT...] CA CERT KEY REQUESTS CLIENTS LABEL
//
// Each client has a session of its own. What a fault interrupts is asked for again, so all requests
// are served in the end. Prints one line of JSON: served, interrupted, and how often a host was
// given to two at a time.

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <ranges>
#include <string>

#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "requestor/error.h"
#include "requestor/held_nodes.h"
#include "requestor/request.h"
#include "tests/support/patience.h"

namespace {

using namespace nodepool;
using async::Task;
using coordination::SessionState;
using coordination::zookeeper::ZooKeeperOptions;

constexpr int kLongestUse = 1000;  // milliseconds
constexpr auto kPauseAfterFault = std::chrono::milliseconds(200);

struct Tally {
  int to_serve = 0;
  int served = 0;
  int interrupted = 0;
  int served_twice = 0;
  std::map<std::string, int> holders;  // client by host
};

class Client {
 public:
  Client(int number, async::Runtime runtime, std::string label, Tally& tally)
      : number_(number), runtime_(runtime), label_(std::move(label)), tally_(tally) {}

  // Takes part until all requests are served.
  Task<> run(ZooKeeperOptions options) {
    const auto store = co_await open(std::move(options));
    // Who has lost its connection may lose its locks: it claims nothing any more.
    const auto session = store->on_session([this](SessionState state) {
      if (state != SessionState::connected) forget();
    });
    while (tally_.to_serve > 0) {
      --tally_.to_serve;
      bool failed = false;
      try {
        co_await one_request(*store);
        ++tally_.served;
      } catch (const coordination::StoreError&) {
        failed = true;
      } catch (const requestor::RequestError&) {
        failed = true;  // the request or its node went with a session
      }
      forget();
      if (!failed) continue;
      ++tally_.to_serve;
      ++tally_.interrupted;
      co_await runtime_.clock.sleep_for(kPauseAfterFault);
    }
    co_await close(*store);
  }

 private:
  Task<std::unique_ptr<coordination::Store>> open(ZooKeeperOptions options) {
    while (true) {
      try {
        co_return co_await coordination::zookeeper::open_store(runtime_, options);
      } catch (const coordination::StoreError&) {
      }
      co_await runtime_.clock.sleep_for(kPauseAfterFault);
    }
  }

  Task<> close(coordination::Store& store) {
    try {
      co_await store.close();
    } catch (const coordination::StoreError&) {
      // The session ends at its timeout.
    }
  }

  Task<> one_request(coordination::Store& store) {
    requestor::NodeRequestSpec request_spec;
    request_spec.labels = {label_};
    request_spec.requestor = "requestors";
    const std::string id =
        co_await requestor::create_request(runtime_, store, std::move(request_spec));
    requestor::Progress progress = [](const model::NodeRequest&) {};
    requestor::Result answer = co_await requestor::await_result(
        runtime_, store, id, runtime_.clock.now() + test_support::kPatience, std::move(progress));
    if (answer.kind != requestor::Result::Kind::fulfilled) {
      throw requestor::RequestError("request " + id + " has not been fulfilled");
    }
    requestor::HeldNodes nodes(runtime_, store);
    co_await nodes.accept(std::move(answer.request));
    if (store.session_state() == SessionState::connected) claim(nodes.nodes().at(0));
    co_await runtime_.clock.sleep_for(
        std::chrono::milliseconds(runtime_.random.below(kLongestUse)));
    forget();
    co_await nodes.release();
  }

  void claim(const model::Node& node) {
    if (!tally_.holders.emplace(node.external_id_text(), number_).second) ++tally_.served_twice;
  }

  void forget() {
    std::erase_if(tally_.holders, [this](const auto& held) { return held.second == number_; });
  }

  int number_;
  async::Runtime runtime_;
  std::string label_;
  Tally& tally_;
};

Task<> run_clients(async::Runtime runtime, ZooKeeperOptions options, int clients, std::string label,
                   Tally& tally) {
  std::vector<std::unique_ptr<Client>> all;
  async::TaskScope scope(runtime, [](const std::string& name, const std::string& error) {
    std::cerr << name << ": " << error << '\n';
  });
  for (int i = 0; i < clients; ++i) {
    all.push_back(std::make_unique<Client>(i, runtime, label, tally));
    scope.spawn(fmt::format("client {}", i), all.back()->run(options));
  }
  co_await scope.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::cerr << "usage: requestors PORT[,PORT...] CA CERT KEY REQUESTS CLIENTS LABEL\n";
    return 2;
  }
  ZooKeeperOptions options;
  for (const auto port : std::string_view(argv[1]) | std::views::split(',')) {
    const std::string text(port.begin(), port.end());
    options.servers.push_back({"127.0.0.1", static_cast<std::uint16_t>(std::stoul(text))});
  }
  options.tls = {.ca = argv[2], .cert = argv[3], .key = argv[4]};
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  Tally tally;
  tally.to_serve = std::stoi(argv[5]);
  const int wanted = tally.to_serve;
  loop.run(run_clients({loop.executor(), clock, random}, std::move(options), std::stoi(argv[6]),
                       argv[7], tally));
  std::cout << fmt::format(R"({{"served": {}, "interrupted": {}, "served_twice": {}}})",
                           tally.served, tally.interrupted, tally.served_twice)
            << std::endl;
  return tally.served == wanted && tally.served_twice == 0 ? 0 : 1;
}
