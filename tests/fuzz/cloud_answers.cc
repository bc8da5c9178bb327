// What OpenStack's services answer. The first byte says to which call, and with which status; the
// rest is the body, and the header Retry-After of another answer.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "driver/cloud_error.h"
#include "drivers/openstack/api/cloud_api.h"
#include "http/retry.h"
#include "tests/fuzz/catalog.h"
#include "tests/fuzz/target.h"
#include "tests/support/http_server.h"

namespace nodepool::fuzz {
namespace {

using namespace drivers::openstack;
using async::Task;

constexpr std::array<int, 4> kStatuses = {200, 200, 400, 403};  // none that makes it wait

template <typename T>
Task<> done(Task<T> call) {
  co_await std::move(call);
}

using Calls = std::vector<std::function<Task<>(CloudApi&)>>;

const Calls& calls() {
  static const Calls all = {
      [](CloudApi& cloud) { return done(cloud.compute().servers()); },
      [](CloudApi& cloud) { return done(cloud.compute().flavors()); },
      [](CloudApi& cloud) { return done(cloud.compute().zones()); },
      [](CloudApi& cloud) { return done(cloud.compute().limits()); },
      [](CloudApi& cloud) { return done(cloud.compute().create(ServerRequest())); },
      [](CloudApi& cloud) { return done(cloud.compute().console_log("id")); },
      [](CloudApi& cloud) { return done(cloud.network().networks()); },
      [](CloudApi& cloud) { return done(cloud.network().subnets()); },
      [](CloudApi& cloud) { return done(cloud.network().ports_of("id")); },
      [](CloudApi& cloud) { return done(cloud.network().floating_ips()); },
      [](CloudApi& cloud) { return done(cloud.image().own_images()); },
      [](CloudApi& cloud) { return done(cloud.image().find("id")); },
      [](CloudApi& cloud) { return done(cloud.volume().volumes()); },
      [](CloudApi& cloud) { return done(cloud.volume().limits()); },
  };
  return all;
}

// A cloud whose token is in order, and whose services answer whatever is wanted.
class AnyCloud {
 public:
  AnyCloud()
      : log_(telemetry::Log::to_consumer(
            [](telemetry::LogLevel, std::string_view, std::string_view) {})),
        server_(runtime_, [this](const http::HttpServer::Call& call) { return serve(call); }) {
    cloud_.name = "any";
    cloud_.auth = {{"auth_url", server_.url() + "/v3"}, {"username", "u"}, {"password", "p"}};
    forget_token();
  }

  void answer(std::size_t choice, std::string_view body) {
    // Any call can be the first one of all, which the token is asked for.
    answers_to_token_ = choice % (calls().size() + 1) == calls().size();
    status_ = kStatuses[choice / (calls().size() + 1) % kStatuses.size()];
    body_ = body;
    if (answers_to_token_) forget_token();
    try {
      // The first only reads the catalog: nobody is called at the addresses in it, where calls
      // would be repeated.
      loop_.run(answers_to_token_ ? done(api_->has_network())
                                  : calls()[choice % (calls().size() + 1)](*api_));
    } catch (const driver::CloudError&) {
    }
    if (!answers_to_token_) return;
    loop_.run(account_->stop());
    forget_token();
  }

 private:
  void forget_token() {
    const telemetry::Logger log(log_, "test");
    api_.reset();
    account_.emplace(runtime_, cloud_, log, http::Client::Observer());
    api_.emplace(runtime_, *account_, log, http::Client::Observer());
  }

  Task<std::string> serve(http::HttpServer::Call call) {
    const bool is_token = call.target.ends_with("/auth/tokens");
    if (!is_token || answers_to_token_)
      co_return http::answer(status_, body_, "X-Subject-Token: t\r\n");
    co_return http::answer(201, catalog(server_.url(), {"compute", "network", "image", "volumev3"}),
                           "X-Subject-Token: t\r\n");
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  std::shared_ptr<telemetry::Log> log_;
  http::HttpServer server_;
  Cloud cloud_;
  std::optional<CloudAccount> account_;
  std::optional<CloudApi> api_;
  bool answers_to_token_ = false;
  int status_ = 200;
  std::string body_;
};

}  // namespace

void read(std::string_view input) {
  if (input.empty()) return;
  static AnyCloud cloud;
  cloud.answer(static_cast<unsigned char>(input.front()), input.substr(1));
  http::retry_after(input.substr(1, 100), 1e9);
}

}  // namespace nodepool::fuzz
