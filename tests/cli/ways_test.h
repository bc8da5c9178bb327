#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/finally.h"
#include "model/paths.h"
#include "requestor/lease.h"
#include "tests/api/api_test.h"
#include "tests/cli/cli_test.h"
#include "web/server.h"

namespace nodepool::cli {

using std::chrono::seconds;

enum class Way { store, api };

// An installation in memory that commands reach by its store, and by the API of its launchers.
class WaysTest : public CliTest {
 protected:
  WaysTest()
      : launchers_(runtime_, server_,
                   directory_.write("tokens.yaml",
                                    "tokens: [{name: ada, scope: request, max-lease: 1h, hash: \"" +
                                        api::hash_of("secret") + "\"}]\n"),
                   audit_),
        door_(runtime_, log_, [this](web::Request call) { return answer(std::move(call)); }) {
    config_ += "max-lease: 1h\n";
    run(launchers_.start());
    run(door_.start({.host = "127.0.0.1", .port = 0}));
    environment_.emplace_back("NODEPOOL_TOKEN", "secret");
    run(launcher_.add_pool("rack", {"small"}));
  }
  ~WaysTest() override {
    run(door_.stop());
    run(launchers_.stop());
  }

  // Performs the command the one way or the other.
  int perform(Way way, std::vector<std::string> arguments) {
    if (way == Way::store) return nodepool(std::move(arguments));
    const std::string url = "http://127.0.0.1:" + std::to_string(door_.port());
    arguments.insert(arguments.begin(), {"--url", url});
    return nodepool_bare(std::move(arguments));
  }

  // Lets something happen as soon as the command waits for its request.
  void when_it_waits(Way way, std::function<async::Task<>()> happening) {
    if (way == Way::api) {
      happening_ = std::move(happening);
    } else {
      scope_.spawn("happening", happen_beside_the_store(std::move(happening)));
    }
  }

  async::Task<> pass_at_once(seconds time) {
    clock_.advance_by(time);
    co_return;
  }

  async::Task<> remove_request() {
    const std::vector<std::string> requests = co_await launcher_.requests();
    co_await store_.remove(model::request_path(requests.front()), coordination::kAnyVersion);
  }

  // Another client releases the node once the command has made the file; then the lease is due to
  // be renewed.
  async::Task<> release_when_made(std::filesystem::path file, std::string lease, std::string node) {
    while (!std::filesystem::exists(file)) {
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
    const std::vector<std::string> nodes = {node};
    co_await requestor::release_nodes(runtime_, store_, lease, nodes);
    const model::NodeTable& known = launchers_.records().nodes;
    while (known.find(node)->state == model::NodeState::in_use) {
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
    clock_.advance_by(seconds(45));
  }

  static async::Task<> raise_signal(int signal) {
    std::raise(signal);
    co_return;
  }

 private:
  async::Task<> happen_beside_the_store(std::function<async::Task<>()> happening) {
    while ((co_await launcher_.requests()).empty() ||
           clock_.next_wakeup() == async::Clock::TimePoint::max()) {
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
    co_await happening();
  }

  // What the API waits for before it says that something is not there: it may just not be seen yet.
  async::Task<> advance_time(const bool& is_answered) {
    while (!is_answered) {
      clock_.advance_by(std::chrono::milliseconds(10));
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
  }

  async::Task<web::Response> answer(web::Request call) {
    if (happening_ && call.parameter("wait") != nullptr) {
      const std::function<async::Task<>()> happening = std::exchange(happening_, nullptr);
      co_await happening();
    }
    bool is_answered = false;
    async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
      ADD_FAILURE() << name << ": " << error;
    });
    scope.spawn("time", advance_time(is_answered));
    async::Task<web::Response> answering = launchers_.api().answer(std::move(call));
    const auto stop = [&scope, &is_answered] {
      is_answered = true;
      return scope.join();
    };
    co_return co_await async::finally(std::move(answering), stop);
  }

  std::vector<std::string> audit_;
  api::ApiServer launchers_;
  telemetry::Logger log_{telemetry::Log::to_consumer([](auto&&...) {}), "test"};
  web::Server door_;
  std::function<async::Task<>()> happening_;
};

}  // namespace nodepool::cli
