// What AWS' services answer. The first byte says to which call, and with which status; the rest is
// the body.

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "driver/cloud_error.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/api/service_quotas.h"
#include "tests/fuzz/target.h"
#include "tests/support/http_server.h"

namespace nodepool::fuzz {
namespace {

using namespace drivers::aws;
using async::Task;

constexpr std::array<int, 4> kStatuses = {200, 200, 400, 403};  // none that makes it wait

template <typename T>
Task<> done(Task<T> call) {
  co_await std::move(call);
}

struct Services {
  Ec2& ec2;
  ServiceQuotas& quotas;
};
using Calls = std::vector<std::function<Task<>(Services)>>;

const Calls& calls() {
  static const Calls all = {
      [](Services services) { return done(services.ec2.instances()); },
      [](Services services) { return done(services.ec2.volumes()); },
      [](Services services) { return done(services.ec2.images({"ami-1"})); },
      [](Services services) { return done(services.ec2.instance_types({"t3.nano"})); },
      [](Services services) { return done(services.ec2.console_output("i-1")); },
      [](Services services) { return done(services.ec2.hosts()); },
      [](Services services) { return done(services.ec2.templates()); },
      [](Services services) { return done(services.ec2.release_host("h-1")); },
      [](Services services) { return done(services.quotas.values("ec2")); },
  };
  return all;
}

// An account whose services answer whatever is wanted.
class AnyCloud {
 public:
  AnyCloud()
      : log_(telemetry::Log::to_consumer(
                 [](telemetry::LogLevel, std::string_view, std::string_view) {}),
             "test"),
        server_(runtime_, [this](const http::HttpServer::Call& call) { return serve(call); }) {
    account_.region = "north-1";
    account_.credentials.keys = {"A", "B", ""};
    for (const ServiceKind service : {ServiceKind::ec2, ServiceKind::service_quotas}) {
      account_.endpoints[service] = server_.url();
    }
  }

  void answer(std::size_t choice, std::string_view body) {
    status_ = kStatuses[choice / calls().size() % kStatuses.size()];
    body_ = body;
    answers_ = 0;
    state_.set_rate(0);  // whatever the answers before this one have asked for
    try {
      loop_.run(calls()[choice % calls().size()]({ec2_, quotas_}));
    } catch (const driver::CloudError&) {
    }
  }

 private:
  // A list whose pages go on with other names would go on for long.
  Task<std::string> serve(http::HttpServer::Call /*call*/) {
    ++answers_;
    co_return http::answer(answers_ > 2 ? 400 : status_, body_);
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool threads_{1, "test"};
  telemetry::Logger log_;
  http::HttpServer server_;
  Account account_;
  AccountState state_{runtime_, account_, threads_, log_, http::Client::Observer()};
  Caller caller_{runtime_, state_, log_, http::Client::Observer(), 1};
  Ec2 ec2_{caller_};
  ServiceQuotas quotas_{caller_};
  int status_ = 200;
  int answers_ = 0;
  std::string body_;
};

}  // namespace

void read(std::string_view input) {
  if (input.empty()) return;
  static AnyCloud cloud;
  cloud.answer(static_cast<unsigned char>(input.front()), input.substr(1));
}

}  // namespace nodepool::fuzz
