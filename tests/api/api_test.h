#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "api/api.h"
#include "async/event_loop.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "model/records.h"
#include "tests/requestor/launcher_double.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::api {

using nlohmann::json;

// A response.
struct Got {
  unsigned status = 0;
  std::map<std::string, std::string> headers = {};
  std::string text = {};
  json body = nullptr;

  std::string id() const { return body.at("id").get<std::string>(); }
};

// A launcher that serves the API: a session, its tables, and the API.
class ApiServer {
 public:
  ApiServer(const async::Runtime& runtime, coordination::MemoryServer& server, std::string tokens,
            std::vector<std::string>& audit, bool anonymous_read = true,
            std::optional<history::Journal> journal = {})
      : clock_(runtime.clock),
        store_(server, runtime),
        log_(telemetry::Log::to_consumer(
                 [this](telemetry::LogLevel, std::string_view, std::string_view line) {
                   lines_.emplace_back(line);
                 },
                 telemetry::LogLevel::warning),
             "test"),
        audit_(telemetry::Log::to_consumer(
                   [&audit](telemetry::LogLevel, std::string_view, std::string_view line) {
                     audit.emplace_back(line);
                   }),
               "audit"),
        records_(runtime, store_, log_),
        scope_(runtime, [](const std::string& name, const std::string& error) {
          ADD_FAILURE() << name << ": " << error;
        }) {
    Api::Options options{
        .access = {.tokens = std::move(tokens), .anonymous_read = anonymous_read},
        .journal = std::move(journal),
        .explain =
            [this](std::string subject, report::MayName may_name) {
              return explain(std::move(subject), std::move(may_name));
            },
        .max_lease = [this] { return max_lease; },
        .configured_pause =
            [this](const std::string& image) {
              const auto found = configured_images.find(image);
              return found == configured_images.end() ? std::nullopt : std::optional(found->second);
            }};
    api_.emplace(runtime, store_, records_, log_, audit_, std::move(options));
  }

  async::Task<> start() {
    co_await records_.make_roots(model::Records::all());
    records_.follow(scope_, model::Records::all());
    co_await records_.until_ready();
    api_->start();
  }

  async::Task<> stop() {
    if (!api_) co_return;
    co_await api_->stop();
    co_await scope_.stop();
    api_.reset();
  }

  // Simulates a killed process.
  async::Task<> die() {
    co_await stop();
    co_await store_.close();
  }

  async::Task<std::optional<report::Explanation>> explain(std::string subject,
                                                          report::MayName may_name) {
    if (explanation_time) co_await clock_.sleep_for(*explanation_time);
    report::Explanation explanation;
    report::say(explanation.statements, "subject", subject);
    for (const std::string& id : mentioned) {
      report::say(explanation.statements, "other", report::request_title(may_name, id));
    }
    co_return explanation;
  }

  std::optional<std::chrono::seconds> max_lease = {};  // of the configuration

  std::optional<std::chrono::seconds> explanation_time = {};  // nothing: at once

  std::vector<std::string> mentioned = {};  // in explanations: other requests and nodes

  std::map<std::string, bool> configured_images = {};  // by name: whether it is paused

  Api& api() { return *api_; }
  model::Records& records() { return records_; }
  coordination::MemoryStore& store() { return store_; }
  // Its warnings.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  async::Clock& clock_;
  std::vector<std::string> lines_;
  coordination::MemoryStore store_;
  telemetry::Logger log_;
  telemetry::Logger audit_;
  model::Records records_;
  async::TaskScope scope_;
  std::optional<Api> api_;
};

// Keeps the parts of a stream.
class Sink final : public web::StreamSink {
 public:
  async::Task<bool> send(std::shared_ptr<const std::string> part) override {
    parts.push_back(*part);
    co_return true;
  }
  std::vector<std::string> parts;
};

// The body of a request for one node.
inline const json kSmall = {{"labels", {"small"}}};

// An in-memory installation with a launcher double and two launchers that serve the API.
class ApiTest : public testing::Test {
 protected:
  ApiTest() : launcher_store_(server_, runtime_), launcher_(runtime_, launcher_store_) {
    launcher_.start();
    token("gitlab", "scope: request");
    token("jenkins", "scope: request, max-nodes: 3, max-lease: 1h");
    token("acme", "scope: request, tenant: acme");
    token("viewer", "scope: read");
    token("boss", "scope: admin");
    write_tokens();
    first_ = serve();
    second_ = serve();
  }

  ~ApiTest() override {
    run(first_->stop());
    run(second_->stop());
    run(launcher_.stop());
  }

  template <typename T>
  T run(async::Task<T> task) {
    return loop_.run(std::move(task));
  }
  void run(async::Task<> task) { loop_.run(std::move(task)); }

  void settle() {
    while (loop_.poll()) {
    }
  }

  // Advances the time in steps and runs the due work.
  void pass(std::chrono::seconds time) {
    for (auto passed = std::chrono::seconds(0); passed < time; passed += std::chrono::seconds(1)) {
      clock_.advance_by(std::chrono::seconds(1));
      settle();
    }
  }

  void token(const std::string& name, const std::string& rights) {
    tokens_ += fmt::format("  - {{name: {}, {}, hash: \"{}\"}}\n", name, rights,
                           hash_of("secret of " + name));
  }
  void drop_token(const std::string& name) {
    const std::size_t begin = tokens_.find("  - {name: " + name + ",");
    tokens_.erase(begin, tokens_.find('\n', begin) + 1 - begin);
  }
  void write_tokens() { token_file_ = directory_.write("tokens.yaml", "tokens:\n" + tokens_); }

  std::unique_ptr<ApiServer> serve(bool anonymous_read = true) {
    auto server = std::make_unique<ApiServer>(runtime_, server_, token_file_, audit_,
                                              anonymous_read, journal_);
    run(server->start());
    return server;
  }

  static web::Request request(const std::string& method, const std::string& target,
                              const std::string& client, const json& body = nullptr) {
    web::Request request;
    request.method = method;
    web::parse_target(target, request);
    request.peer = {.address = "127.0.0.1", .is_private = true, .user = {}};
    if (!client.empty()) request.headers["authorization"] = "Bearer secret of " + client;
    if (!body.is_null()) request.body = body.dump();
    return request;
  }

  static Got got(const web::Response& response) {
    Got got{.status = response.status};
    for (const auto& [name, value] : response.headers) got.headers[name] = value;
    if (response.body) got.text = *response.body;
    if (!got.text.empty()) got.body = json::parse(got.text);
    return got;
  }

  // Returns the response. Advances the time while the call waits.
  Got call(ApiServer& server, web::Request request) {
    std::optional<web::Response> response;
    async::TaskScope scope(runtime_, [](const auto& name, const auto& error) {
      ADD_FAILURE() << name << ": " << error;
    });
    scope.spawn("call", answer(server, std::move(request), response));
    while (!scope.empty()) {
      if (!loop_.poll()) clock_.advance_by(std::chrono::milliseconds(10));
    }
    run(scope.join());
    return response ? got(*response) : Got{};
  }
  static async::Task<> answer(ApiServer& server, web::Request request,
                              std::optional<web::Response>& response) {
    response = co_await server.api().answer(std::move(request));
  }
  // The same, for the first launcher.
  Got call(const std::string& method, const std::string& target, const std::string& client,
           const json& body = nullptr) {
    return call(*first_, request(method, target, client, body));
  }

  // Requests and gets a node.
  Got leased(const std::string& client, json body = {{"labels", {"small"}}}) {
    const Got placed = call("POST", "/api/v1/requests", client, body);
    EXPECT_EQ(placed.status, 201) << placed.text;
    return call("GET", "/api/v1/requests/" + placed.id() + "?wait=10s", client);
  }

  // Reads the node from the store.
  model::Node node(const std::string& id) { return run(launcher_.node(id)); }

  // Another process writes the record again before anything else runs.
  void change_at_once(const std::string& path) {
    coordination::Transaction change;
    change.set(path, server_.tree().get(path).data);
    server_.commit(operator_, change, 0);
  }

  // The same between any two steps of another task.
  async::Task<> keep_changing(std::string path, const bool& is_over) {
    while (!is_over) {
      change_at_once(path);
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  test_support::TemporaryDirectory directory_;
  std::string tokens_;
  std::string token_file_;
  std::optional<history::Journal> journal_ = history::Journal{directory_.path() / "history"};
  std::vector<std::string> audit_;
  telemetry::Logger log_{telemetry::Log::to_consumer([](auto, auto, auto) {}), "test"};
  coordination::MemoryServer server_;
  std::int64_t operator_ = server_.open_session([](const auto&) {});
  coordination::MemoryStore launcher_store_;
  requestor::LauncherDouble launcher_;
  std::unique_ptr<ApiServer> first_;
  std::unique_ptr<ApiServer> second_;
};

}  // namespace nodepool::api
