#include "drivers/kubernetes/space_launch.h"

#include <fmt/format.h>

#include "cloud/base64.h"
#include "cloud/metadata.h"
#include "driver/cloud_error.h"
#include "driver/launch_metrics.h"
#include "driver/ownership.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/kubernetes/api/classify.h"
#include "drivers/kubernetes/manifests.h"
#include "drivers/kubernetes/metadata.h"
#include "drivers/kubernetes/names.h"

namespace nodepool::drivers::kubernetes {

using async::Task;
using driver::CloudError;

namespace {

// Timeout for the cluster's controllers in a new namespace, to make the default service account and
// a token, and to count a quota.
constexpr auto kControllersPatience = std::chrono::seconds(30);
constexpr async::Duration kFirstPause = std::chrono::milliseconds(50);
constexpr async::Duration kLongestPause = std::chrono::seconds(1);

// The pauses between attempts, until the controllers should have finished.
class Pauses {
 public:
  explicit Pauses(const async::Runtime& runtime)
      : runtime_(runtime), until_(runtime.clock.now() + kControllersPatience) {}

  bool are_over() const { return runtime_.clock.now() >= until_; }
  Task<> next() {
    co_await runtime_.clock.sleep_for(pause_);
    pause_ = std::min(pause_ * 2, kLongestPause);
  }

 private:
  async::Runtime runtime_;
  async::Clock::TimePoint until_;
  async::Duration pause_ = kFirstPause;
};

// Retries an idempotent call while the cluster sets up a new namespace. `call` outlives it.
template <typename Call>
Task<> retry_while_new(async::Runtime runtime, const Call& call) {
  for (Pauses pauses(runtime);;) {
    try {
      co_await call();
      co_return;
    } catch (const CloudError& error) {
      if (error.code() != kNewNamespace || pauses.are_over()) throw;
    }
    co_await pauses.next();
  }
}

std::string core_path(const std::string& space, const std::string& what) {
  return "/api/v1/namespaces/" + space + "/" + what;
}

}  // namespace

SpaceLaunch::SpaceLaunch(SpaceContext context, driver::CreateSpec spec, driver::LaunchSteps& steps)
    : context_(std::move(context)),
      spec_(std::move(spec)),
      steps_(steps),
      label_(context_.config.label(spec_.pool, spec_.label)),
      attached_(attached_for(label_, spec_, context_.log)),
      names_(names_for(spec_.pool, spec_.node_id, spec_.metadata)) {}

Task<driver::Instance> SpaceLaunch::run() {
  const driver::LaunchSteps::Make make = [this] { return make_space(); };
  const driver::LaunchSteps::Find find = [this] { return find_space(); };
  // The step has the same name in all releases and in the driver openshift.
  const std::string space = co_await steps_.step("namespace", make, find);
  // The following calls are idempotent: the objects have fixed names in the node's own namespace.
  const Account account = co_await make_account(space);
  driver::Instance instance = describe(space, account);
  if (label_.has_pod) {
    const Pod pod = co_await run_pod(space);
    if (context_.spaces.reports_all_spaces() && !pod.host.empty()) instance.host_id = pod.host;
  }
  co_return instance;
}

Task<std::string> SpaceLaunch::make_space() {
  for (const std::string& name : names_) {
    bool is_made = co_await context_.spaces.make(name, attached_);
    if (!is_made) is_made = co_await is_ours(name);
    if (!is_made) continue;
    steps_.set_external_id(model::json_string(name));
    co_return name;
  }
  throw CloudError(CloudError::Kind::failed,
                   fmt::format("{} {} and {} already exist for others", context_.spaces.word(),
                               names_.front(), names_.back()));
}

Task<std::optional<std::string>> SpaceLaunch::find_space() {
  for (const std::string& name : names_) {
    const bool found = co_await is_ours(name);
    if (!found) continue;
    steps_.set_external_id(model::json_string(name));
    co_return name;
  }
  co_return std::nullopt;
}

Task<bool> SpaceLaunch::is_ours(std::string name) {
  const std::optional<Space> space = co_await context_.spaces.find(std::move(name));
  co_return space && !space->is_going && driver::carries(space->attached, spec_.metadata);
}

Task<SpaceLaunch::Account> SpaceLaunch::make_account(std::string space) {
  steps_.enter("making the service account");
  co_await make("create service account", core_path(space, "serviceaccounts"), service_account());
  co_await make("create secret", core_path(space, "secrets"), token_secret());
  const auto grant = [this, &space] { return context_.spaces.grant(space, label_.has_pod); };
  co_await retry_while_new(context_.runtime, grant);
  steps_.enter("waiting for the account's token");
  co_return co_await read_account(space);
}

Task<> SpaceLaunch::make(std::string name, std::string path, Json body) {
  const auto call = [&] { return context_.api.make(name, path, body, KubeApi::Retry::allowed); };
  co_await retry_while_new(context_.runtime, call);
}

// Polls for the token instead of watching: permission to watch one secret allows watching all.
Task<SpaceLaunch::Account> SpaceLaunch::read_account(std::string space) {
  const std::string path = core_path(space, std::string("secrets/") + kAccount);
  for (Pauses pauses(context_.runtime);;) {
    const Account account = co_await driver::if_answered(
        find_account(path), "the service account's token", context_.log);
    if (!account.token.empty() && !account.ca.empty()) co_return account;
    if (pauses.are_over()) break;
    co_await pauses.next();
  }
  throw CloudError(CloudError::Kind::failed,
                   "timeout waiting for the token of the service account in " + space,
                   driver::kLaunchInternal);
}

// Fields that the cluster has not set yet are empty.
Task<SpaceLaunch::Account> SpaceLaunch::find_account(std::string path) {
  const std::optional<Element> secret = co_await context_.api.find("get secret", path);
  const auto data = secret ? secret->optional_object("data") : std::nullopt;
  if (!data) co_return Account{};
  const auto token = cloud::base64_decoded(data->text_or("token"));
  co_return Account{.token = token.value_or(""), .ca = data->text_or("ca.crt")};
}

Task<Pod> SpaceLaunch::run_pod(std::string space) {
  steps_.enter("making the pod");
  Json body = pod(label_, object_name(spec_.label), attached_);
  co_await make("create pod", core_path(space, "pods"), std::move(body));
  driver::PollWaiter awaited = context_.pods.await(spec_.expected);
  steps_.enter("waiting for the pod");
  const std::string name = object_name(spec_.label);
  PodWait wait{.runtime = context_.runtime,
               .log = context_.log,
               .space = space,
               .name = name,
               .find = [this, space, name] { return context_.spaces.find_pod(space, name); },
               .enter = [this](std::string state) { steps_.enter(std::move(state)); }};
  Pod running = co_await wait_until_running(std::move(wait), context_.pods, awaited);
  steps_.booted(awaited.taken());
  co_return running;
}

driver::Instance SpaceLaunch::describe(const std::string& space, const Account& account) const {
  driver::Instance instance;
  instance.external_id = model::json_string(space);
  instance.metadata = attached_;
  instance.resources = label_.need;
  instance.cloud = context_.config.context();
  std::string pod_name;
  if (label_.has_pod) {
    pod_name = object_name(spec_.label);
    instance.interface_ip = pod_name;
  }
  Json port =
      connection_port(context_.config.cluster(), space, pod_name, account.token, account.ca, true);
  if (context_.spaces.reports_all_spaces()) port["name"] = space;
  instance.connection.port = model::Json::parse(port.dump());
  return instance;
}

driver::Metadata attached_for(const KubeLabel& label, const driver::CreateSpec& spec,
                              const telemetry::Logger& log) {
  cloud::LabelMetadata wanted{.fixed = label.labels, .dynamic = label.dynamic_labels};
  wanted.fixed.try_emplace(std::string(kNodeLabelKey), spec.label);
  driver::Metadata attached = cloud::machine_metadata(wanted, spec, "dynamic-labels", log);
  for (const std::string& wrong : no_labels(attached)) {
    log.error("Label {}: omitting an invalid Kubernetes label: {}", spec.label, wrong);
  }
  return attached;
}

Json connection_port(const Cluster& cluster, const std::string& space, const std::string& pod,
                     const std::string& token, const std::string& ca, bool may_lack_ca) {
  Json port = {{"namespace", space},
               {"host", cluster.server},
               {"skiptls", !cluster.verify},
               {"token", token},
               {"user", kAccount}};
  if (cluster.verify || !may_lack_ca) port["ca_crt"] = ca;
  if (!pod.empty()) port["pod"] = pod;
  return port;
}

}  // namespace nodepool::drivers::kubernetes
