// The exit statuses of the commands for nodes (docs/using-nodes.md), which are the same with the
// store and through the request API.

#include <gmock/gmock.h>

#include <csignal>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/finally.h"
#include "model/paths.h"
#include "tests/api/api_test.h"
#include "tests/cli/cli_test.h"
#include "web/server.h"

namespace nodepool::cli {
namespace {

using async::Task;
using requestor::LauncherDouble;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

enum class Way { store, api };

class ExitStatusTest : public CliTest, public testing::WithParamInterface<Way> {
 protected:
  ExitStatusTest()
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
  ~ExitStatusTest() override {
    run(door_.stop());
    run(launchers_.stop());
  }

  // Performs the command the one way or the other.
  int perform(std::vector<std::string> arguments) {
    if (GetParam() == Way::store) return nodepool(std::move(arguments));
    const std::string url = "http://127.0.0.1:" + std::to_string(door_.port());
    arguments.insert(arguments.begin(), {"--url", url});
    return nodepool_bare(std::move(arguments));
  }

  // Lets something happen as soon as the command waits for its request.
  void when_it_waits(std::function<Task<>()> happening) {
    if (GetParam() == Way::api) {
      happening_ = std::move(happening);
    } else {
      scope_.spawn("happening", happen_beside_the_store(std::move(happening)));
    }
  }

  Task<> pass_at_once(seconds time) {
    clock_.advance_by(time);
    co_return;
  }

  Task<> remove_request() {
    const std::vector<std::string> requests = co_await launcher_.requests();
    co_await store_.remove(model::request_path(requests.front()), coordination::kAnyVersion);
  }

  static Task<> raise_signal(int signal) {
    std::raise(signal);
    co_return;
  }

 private:
  Task<> happen_beside_the_store(std::function<Task<>()> happening) {
    while ((co_await launcher_.requests()).empty() ||
           clock_.next_wakeup() == async::Clock::TimePoint::max()) {
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
    co_await happening();
  }

  // What the API waits for before it says that something is not there: it may just not be seen yet.
  Task<> advance_time(const bool& is_answered) {
    while (!is_answered) {
      clock_.advance_by(std::chrono::milliseconds(10));
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
  }

  Task<web::Response> answer(web::Request call) {
    if (happening_ && call.parameter("wait") != nullptr) {
      const std::function<Task<>()> happening = std::exchange(happening_, nullptr);
      co_await happening();
    }
    bool is_answered = false;
    async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
      ADD_FAILURE() << name << ": " << error;
    });
    scope.spawn("time", advance_time(is_answered));
    Task<web::Response> answering = launchers_.api().answer(std::move(call));
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
  std::function<Task<>()> happening_;
};

TEST_P(ExitStatusTest, is_0_when_the_nodes_are_there_and_when_they_are_given_back) {
  EXPECT_EQ(perform({"request", "small"}), 0) << err();
  EXPECT_EQ(perform({"renew", "200-0000000000"}), 0) << err();
  EXPECT_EQ(err(), "");
  EXPECT_EQ(perform({"renew", "200-0000000000", "--lease", "30m"}), 0) << err();
  EXPECT_THAT(err(), HasSubstr("lease 200-0000000000 expires earlier than before"));
  EXPECT_EQ(perform({"release", "200-0000000000"}), 0) << err();
}

TEST_P(ExitStatusTest, is_2_when_every_pool_has_declined) {
  launcher_.react(LauncherDouble::Reaction::decline);
  EXPECT_EQ(perform({"request", "small"}), 2);
  EXPECT_THAT(err(), HasSubstr("failed: every pool declined it\n  "));
}

TEST_P(ExitStatusTest, is_3_when_the_nodes_were_not_there_in_time) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  when_it_waits([this] { return pass_at_once(seconds(21)); });
  EXPECT_EQ(perform({"request", "small", "--timeout", "20s"}), 3);
  EXPECT_EQ(err(),
            "nodepool: request 200-0000000000 timed out and has been withdrawn\n"
            "  `nodepool explain small` shows the pools of the label and what they wait for\n");
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_P(ExitStatusTest, is_1_when_the_request_is_removed_meanwhile) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  when_it_waits([this] { return remove_request(); });
  EXPECT_EQ(perform({"request", "small"}), 1);
  EXPECT_EQ(err(), "nodepool: request 200-0000000000 was removed by another client\n");
}

TEST_P(ExitStatusTest, is_1_when_more_is_asked_for_than_may_be_had) {
  EXPECT_EQ(perform({"request", "small", "--lease", "2h"}), 1);
  EXPECT_THAT(run(launcher_.requests()), IsEmpty());
}

TEST_P(ExitStatusTest, is_1_when_there_is_no_such_lease) {
  EXPECT_EQ(perform({"renew", "200-0000000009"}), 1);
  EXPECT_EQ(perform({"release", "200-0000000009"}), 1);
  EXPECT_EQ(perform({"explain", "no-such-thing", "nor-that"}), perform({"explain", "nor-that"}));
}

TEST_P(ExitStatusTest, has_the_signal_that_has_interrupted_the_wait) {
  launcher_.react(LauncherDouble::Reaction::ignore);
  when_it_waits([] { return raise_signal(SIGTERM); });
  EXPECT_EQ(perform({"request", "small"}), 128 + SIGTERM);
  when_it_waits([] { return raise_signal(SIGINT); });
  EXPECT_EQ(perform({"run", "small", "--", "true"}), 128 + SIGINT);
}

TEST_P(ExitStatusTest, of_run_is_that_of_its_command_or_125) {
  EXPECT_EQ(perform({"run", "small", "--", "sh", "-c", "exit 7"}), 7) << err();
  EXPECT_EQ(perform({"run", "small", "--", "/no/such/program"}), 127);
  launcher_.react(LauncherDouble::Reaction::decline);
  EXPECT_EQ(perform({"run", "small", "--", "true"}), 125);
  launcher_.react(LauncherDouble::Reaction::ignore);
  when_it_waits([this] { return pass_at_once(seconds(21)); });
  EXPECT_EQ(perform({"run", "small", "--timeout", "20s", "--", "true"}), 125);
}

TEST_P(ExitStatusTest, of_ssh_is_255_without_a_node) {
  EXPECT_EQ(perform({"ssh", "200-0000000009"}), 255);
}

INSTANTIATE_TEST_SUITE_P(, ExitStatusTest, testing::Values(Way::store, Way::api),
                         [](const auto& info) {
                           return info.param == Way::store ? "with_the_store" : "through_the_api";
                         });

}  // namespace
}  // namespace nodepool::cli
