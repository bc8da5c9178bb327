// What clients of the request API ask for: a line with method and target, then the body. The client
// is an administrator, who gets furthest.

#include <chrono>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "api/api.h"
#include "async/event_loop.h"
#include "async/task_scope.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "model/records.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

namespace {

using async::Task;

// A launcher with one lease that waits for nodes.
class Site {
 public:
  Site() {
    loop_.run(records_.make_roots(model::Records::all()));
    records_.follow(scope_, model::Records::all());
    loop_.run(records_.until_ready());
    api_.start();
    answer({.method = "POST",
            .path = "/api/v1/requests",
            .parameters = {},
            .headers = {},
            .body = R"({"labels": ["small"]})",
            .peer = kRoot});
  }

  ~Site() {
    loop_.run(api_.stop());
    loop_.run(scope_.stop());
  }

  web::Response answer(web::Request request) {
    std::optional<web::Response> response;
    async::TaskScope call(runtime_, [](const std::string&, const std::string& error) {
      require(false, ("an exception: " + error).c_str());
    });
    call.spawn("call", take(std::move(request), response));
    constexpr int kLongest = 200;  // seconds, for a wait of a minute
    for (int passed = 0; !call.empty() && passed < kLongest;) {
      if (loop_.poll()) continue;
      clock_.advance_by(std::chrono::seconds(1));
      ++passed;
    }
    require(response.has_value(), "a call is answered");
    loop_.run(call.stop());
    return *response;
  }

  static inline const web::Peer kRoot{.address = {}, .is_private = true, .user = 0};

 private:
  Task<> take(web::Request request, std::optional<web::Response>& response) {
    response = co_await api_.answer(std::move(request));
  }

  async::EventLoop loop_;
  async::VirtualClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  coordination::MemoryServer server_;
  coordination::MemoryStore store_{server_, runtime_};
  telemetry::Logger log_{telemetry::Log::to_consumer([](auto, auto, auto) {}), "test"};
  model::Records records_{runtime_, store_, log_};
  async::TaskScope scope_{runtime_, [](const std::string&, const std::string&) {}};
  api::Api api_{runtime_, store_, records_, log_, log_, {}};
};

}  // namespace

void read(std::string_view input) {
  const std::size_t line = std::min(input.find('\n'), input.size());
  const std::string_view call = input.substr(0, line);
  const std::size_t space = std::min(call.find(' '), call.size());
  web::Request request;
  request.method = std::string(call.substr(0, space));
  if (!web::parse_target(call.substr(std::min(space + 1, call.size())), request)) return;
  if (!request.path.starts_with(api::Api::kRoot)) return;
  request.body = std::string(input.substr(std::min(line + 1, input.size())));
  request.peer = Site::kRoot;
  Site site;
  const web::Response response = site.answer(std::move(request));
  require(response.status >= 200 && response.status < 500, "the client's mistakes are its own");
  if (response.body && !response.body->empty()) {
    require(nlohmann::json::accept(*response.body), "an answer is JSON");
  }
}

}  // namespace nodepool::fuzz
