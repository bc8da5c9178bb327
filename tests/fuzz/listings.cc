// Listings of clouds, page by page. The first byte says whose; the pages follow, with an empty line
// between them. After the last page the cloud repeats it.

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "driver/cloud_error.h"
#include "drivers/aws/api/ec2.h"
#include "drivers/aws/api/imports.h"
#include "drivers/aws/api/s3.h"
#include "drivers/aws/api/service_quotas.h"
#include "drivers/kubernetes/api/kube_api.h"
#include "drivers/kubernetes/pods.h"
#include "drivers/openstack/api/cloud_api.h"
#include "tests/fuzz/catalog.h"
#include "tests/fuzz/target.h"
#include "tests/support/http_server.h"

namespace nodepool::fuzz {
namespace {

using async::Task;

constexpr std::string_view kBetweenPages = "\n\n";
constexpr std::size_t kMostPages = 8;  // what follows belongs to the last one

std::vector<std::string> pages_in(std::string_view input) {
  std::vector<std::string> pages;
  while (pages.size() + 1 < kMostPages) {
    const std::size_t end = input.find(kBetweenPages);
    if (end == std::string_view::npos) break;
    pages.emplace_back(input.substr(0, end));
    input.remove_prefix(end + kBetweenPages.size());
  }
  pages.emplace_back(input);
  return pages;
}

// Clouds of all kinds at one address.
class AnyCloud {
 public:
  AnyCloud()
      : log_(telemetry::Log::to_consumer(
                 [](telemetry::LogLevel, std::string_view, std::string_view) {}),
             "test"),
        server_(runtime_, [this](const http::HttpServer::Call& call) { return serve(call); }) {
    account_.region = "north-1";
    account_.credentials.keys = {"A", "B", ""};
    for (const auto service : {drivers::aws::ServiceKind::ec2, drivers::aws::ServiceKind::s3,
                               drivers::aws::ServiceKind::service_quotas}) {
      account_.endpoints[service] = server_.url();
    }
    drivers::kubernetes::Cluster cluster;
    cluster.server = server_.url();
    cloud_.name = "any";
    cloud_.auth = {{"auth_url", server_.url() + "/v3"}, {"username", "u"}, {"password", "p"}};
    openstack_account_.emplace(runtime_, cloud_, log_, http::Client::Observer());
    openstack_.emplace(runtime_, *openstack_account_, log_, http::Client::Observer());
    kube_account_.emplace(runtime_, std::move(cluster), threads_, log_);
    kube_.emplace(runtime_, *kube_account_, log_, http::Client::Observer());
  }

  void list(std::size_t choice, std::string_view pages) {
    const std::vector<std::function<Task<>(AnyCloud&)>>& all = listings();
    pages_ = pages_in(pages);
    asked_ = 0;
    try {
      loop_.run(all[choice % all.size()](*this));
    } catch (const driver::CloudError&) {
    }
    require(asked_ <= pages_.size() + 1, "a listing ends when its pages repeat themselves");
  }

 private:
  template <typename T>
  static Task<> done(Task<T> call) {
    co_await std::move(call);
  }

  static const std::vector<std::function<Task<>(AnyCloud&)>>& listings() {
    using drivers::aws::ImportKind;
    static const std::vector<std::function<Task<>(AnyCloud&)>> all = {
        [](AnyCloud& cloud) { return done(cloud.openstack_->compute().servers()); },
        [](AnyCloud& cloud) { return done(cloud.openstack_->image().own_images()); },
        [](AnyCloud& cloud) {
          return done(
              cloud.kube_->list("list pods", "/api/v1/pods", "", drivers::kubernetes::read_pod));
        },
        [](AnyCloud& cloud) { return done(cloud.ec2_.instances()); },
        [](AnyCloud& cloud) { return done(cloud.imports_.tasks(ImportKind::image)); },
        [](AnyCloud& cloud) { return done(cloud.s3_.objects("")); },
        [](AnyCloud& cloud) { return done(cloud.quotas_.values("ec2")); },
    };
    return all;
  }

  Task<std::string> serve(http::HttpServer::Call call) {
    if (call.target.ends_with("/auth/tokens")) {
      co_return http::answer(201, catalog(server_.url(), {"compute", "image"}),
                             "X-Subject-Token: t\r\n");
    }
    const std::size_t number = std::min(asked_++, pages_.size() - 1);
    co_return http::answer(200, pages_[number]);
  }

  async::EventLoop loop_;
  async::SystemClock clock_;
  async::Random random_{1};
  async::Runtime runtime_{loop_.executor(), clock_, random_};
  async::ThreadPool threads_{1, "test"};
  telemetry::Logger log_;
  http::HttpServer server_;
  drivers::openstack::Cloud cloud_;
  std::optional<drivers::openstack::CloudAccount> openstack_account_;
  std::optional<drivers::openstack::CloudApi> openstack_;
  std::optional<drivers::kubernetes::ClusterAccount> kube_account_;
  std::optional<drivers::kubernetes::KubeApi> kube_;
  drivers::aws::Account account_;
  drivers::aws::AccountState state_{runtime_, account_, threads_, log_, http::Client::Observer()};
  drivers::aws::Caller caller_{runtime_, state_, log_, http::Client::Observer(), 1};
  drivers::aws::Ec2 ec2_{caller_};
  drivers::aws::Imports imports_{caller_};
  cloud::Bucket s3_ = drivers::aws::s3_bucket(caller_, "bucket");
  drivers::aws::ServiceQuotas quotas_{caller_};
  std::vector<std::string> pages_;
  std::size_t asked_ = 0;
};

}  // namespace

void read(std::string_view input) {
  if (input.empty()) return;
  static AnyCloud cloud;
  cloud.list(static_cast<unsigned char>(input.front()), input.substr(1));
}

}  // namespace nodepool::fuzz
