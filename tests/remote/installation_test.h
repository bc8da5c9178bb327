#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/finally.h"
#include "model/paths.h"
#include "remote/remote_installation.h"
#include "requestor/error.h"
#include "tests/api/api_test.h"
#include "tests/support/child.h"
#include "web/server.h"

namespace nodepool::remote {

using api::ApiServer;
using requestor::RequestError;
using std::chrono::hours;
using std::chrono::seconds;

// A client without a store, against the API of two launchers on real sockets.
class InstallationTest : public api::ApiTest {
 protected:
  InstallationTest() {
    doors_.push_back(open(*first_));
    doors_.push_back(open(*second_));
  }

  ~InstallationTest() override {
    for (const auto& listen_address : doors_) run(listen_address->stop());
  }

  std::unique_ptr<web::Server> open(ApiServer& server) {
    auto listen_address = std::make_unique<web::Server>(
        runtime_, log_,
        [&server](web::Request request) { return server.api().answer(std::move(request)); });
    run(listen_address->start({.host = "127.0.0.1", .port = 0}));
    return listen_address;
  }

  // Makes a key and a certificate that it has signed itself. Returns the file of the key; the
  // certificate is in the file with the same name and ".crt".
  std::string new_certificate(const std::string& name) {
    const std::string key = directory_.path() / name;
    const test_support::Completed made = test_support::run(
        {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", key + ".crt"});
    EXPECT_EQ(made.status, 0) << made.error;
    return key;
  }

  std::unique_ptr<web::Server> open_with_certificate(const std::string& key,
                                                     std::uint16_t port = 0) {
    auto listen_address = std::make_unique<web::Server>(runtime_, log_, [this](web::Request call) {
      return first_->api().answer(std::move(call));
    });
    run(listen_address->start({.kind = web::ListenAddress::Kind::tls,
                               .host = "127.0.0.1",
                               .port = port,
                               .certificate = key + ".crt",
                               .key = key}));
    return listen_address;
  }

  // A launcher that answers a call that waits when `happening` has been, and the request is gone.
  std::unique_ptr<web::Server> open_late(std::function<Task<>()> happening) {
    auto listen_address = std::make_unique<web::Server>(
        runtime_, log_,
        [this, happening](web::Request call) { return answer_late(std::move(call), happening); });
    run(listen_address->start({.host = "127.0.0.1", .port = 0}));
    return listen_address;
  }

  // What the API waits for before it says that something is not there: it may just not be seen yet.
  Task<> advance_time(const bool& is_answered) {
    while (!is_answered) {
      clock_.advance_by(std::chrono::milliseconds(10));
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
  }

  Task<web::Response> answer_late(web::Request call, std::function<Task<>()> happening) {
    if (call.parameter("wait") != nullptr) {
      co_await happening();
      while (!(co_await launcher_.requests()).empty()) {
        co_await boost::asio::post(boost::asio::use_awaitable);
      }
    }
    bool is_answered = false;
    async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
      ADD_FAILURE() << name << ": " << error;
    });
    scope.spawn("time", advance_time(is_answered));
    Task<web::Response> answering = first_->api().answer(std::move(call));
    const auto stop = [&scope, &is_answered] {
      is_answered = true;
      return scope.join();
    };
    co_return co_await async::finally(std::move(answering), stop);
  }

  // A launcher that is unavailable for the calls for which `is_down` returns true. A proxy in front
  // of it may have a status of its own for this.
  std::unique_ptr<web::Server> open_unavailable(std::function<bool(const web::Request&)> is_down,
                                                unsigned status = 503) {
    auto listen_address =
        std::make_unique<web::Server>(runtime_, log_, [this, is_down, status](web::Request call) {
          return answer_if_up(std::move(call), is_down, status);
        });
    run(listen_address->start({.host = "127.0.0.1", .port = 0}));
    return listen_address;
  }

  Task<web::Response> answer_if_up(web::Request call,
                                   std::function<bool(const web::Request&)> is_down,
                                   unsigned status) {
    if (is_down(call)) co_return web::Response{status};
    Task<web::Response> answering = first_->api().answer(std::move(call));
    co_return co_await std::move(answering);
  }

  // A launcher behind a proxy that loses the response to the first call for which `is_meant`
  // returns true.
  std::unique_ptr<web::Server> open_losing(std::function<bool(const web::Request&)> is_meant) {
    auto listen_address = std::make_unique<web::Server>(
        runtime_, log_, [this, is_meant, is_lost = std::make_shared<bool>()](web::Request call) {
          const bool is_to_lose = is_meant(call) && !std::exchange(*is_lost, true);
          return answer_and_lose(std::move(call), is_to_lose);
        });
    run(listen_address->start({.host = "127.0.0.1", .port = 0}));
    return listen_address;
  }

  Task<web::Response> answer_and_lose(web::Request call, bool is_lost) {
    Task<web::Response> answering = first_->api().answer(std::move(call));
    web::Response response = co_await std::move(answering);
    if (is_lost) response = web::Response{502};
    co_return response;
  }

  // A server that gives this response to every call.
  std::unique_ptr<web::Server> open_page(web::Response page) {
    const auto give = [](web::Response page) -> Task<web::Response> { co_return page; };
    auto listen_address = std::make_unique<web::Server>(
        runtime_, log_, [give, page](const web::Request&) { return give(page); });
    run(listen_address->start({.host = "127.0.0.1", .port = 0}));
    return listen_address;
  }

  // Advances the time until the task has ended.
  void pass_until_ended(Task<> task) {
    async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
      ADD_FAILURE() << name << ": " << error;
    });
    scope.spawn("task", std::move(task));
    while (!scope.empty()) {
      if (!loop_.poll()) clock_.advance_by(std::chrono::milliseconds(10));
    }
    run(scope.join());
  }

  // The result of a task while time passes; nothing if it fails. Its error is in `failure_`.
  template <typename Result>
  std::optional<Result> in_time(Task<Result> task) {
    std::optional<Result> result;
    const auto keep = [](Task<Result> task, std::optional<Result>& result,
                         std::string& failure) -> Task<> {
      try {
        result = co_await std::move(task);
      } catch (const RequestError& error) {
        failure = error.what();
      }
    };
    pass_until_ended(keep(std::move(task), result, failure_));
    return result;
  }

  // What becomes of a request while time passes. Its error is in `failure_`.
  std::optional<Installation::Outcome> outcome_in_time(RemoteInstallation& installation,
                                                       Installation::Request order) {
    std::optional<Installation::Outcome> outcome =
        in_time(installation.request(std::move(order), nullptr));
    pass_until_ended(installation.close());
    return outcome;
  }

  // Requests a node, and cancels this as soon as `is_due` returns true.
  void cancel_request(RemoteInstallation& installation, Installation::Request order,
                      const std::function<bool()>& is_due) {
    async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
      ADD_FAILURE() << name << ": " << error;
    });
    const auto wait = [](RemoteInstallation& installation, Installation::Request order) -> Task<> {
      co_await installation.request(std::move(order), nullptr);
    };
    scope.spawn("request", wait(installation, std::move(order)));
    while (!is_due()) {
      if (!loop_.poll()) clock_.advance_by(std::chrono::milliseconds(10));
    }
    run(scope.stop());
  }

  Task<> pass_at_once(seconds time) {
    clock_.advance_by(time);
    co_return;
  }

  Task<> remove_request() {
    const std::vector<std::string> requests = co_await launcher_.requests();
    co_await launcher_store_.remove(model::request_path(requests.front()),
                                    coordination::kAnyVersion);
  }

  std::string url(std::size_t launcher) const {
    return "http://127.0.0.1:" + std::to_string(doors_.at(launcher)->port());
  }

  RemoteInstallation client(const std::string& name) {
    return {runtime_, {.url = url(0), .token = "secret of " + name}, log_, warn_};
  }

  template <typename Result>
  std::string refusal(Task<Result> task) {
    try {
      run(std::move(task));
    } catch (const RequestError& error) {
      return error.what();
    }
    return "none";
  }

  // Leases a node for this process.
  void use_node(RemoteInstallation& installation) {
    const Installation::Outcome outcome =
        run(installation.request({.labels = {"small"},
                                  .is_for_process = true,
                                  .on_lost = [this](const std::string& reason) { loss_ = reason; }},
                                 nullptr));
    ASSERT_TRUE(outcome.leased);
    settle();  // the renewal waits for its time
  }

  // Advances the time until the nodes in use are lost. Returns how long that took.
  seconds time_until_lost() {
    const async::Clock::TimePoint begun = clock_.now();
    while (loss_.empty() && clock_.now() < begun + hours(1)) {
      if (!loop_.poll()) clock_.advance_by(std::chrono::milliseconds(10));
    }
    return std::chrono::duration_cast<seconds>(clock_.now() - begun);
  }

  std::string loss_;  // the reason
  telemetry::Logger log_{telemetry::Log::to_consumer([](auto&&...) {}), "test"};
  RemoteInstallation::Warn warn_ = [](const std::string& text) { ADD_FAILURE() << text; };
  std::vector<std::unique_ptr<web::Server>> doors_;
  std::string failure_;
  std::vector<std::string> warnings_;
  RemoteInstallation::Warn keep_ = [this](const std::string& text) { warnings_.push_back(text); };
};

}  // namespace nodepool::remote
