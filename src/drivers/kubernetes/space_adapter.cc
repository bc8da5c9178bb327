#include "drivers/kubernetes/space_adapter.h"

#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/kubernetes/capacity.h"

namespace nodepool::drivers::kubernetes {

using async::Task;
using driver::CloudError;

namespace {

// Maximum age of listings for leaks and quota.
constexpr auto kNow = std::chrono::seconds(0);

bool is_of_a_node(const Space& space) {
  return !driver::value_of(space.attached, driver::kNodeIdKey).empty();
}

}  // namespace

SpaceAdapter::SpaceAdapter(const async::Runtime& runtime, std::shared_ptr<const KubeConfig> config,
                           std::shared_ptr<ClusterEndpoint> endpoint, telemetry::Logger log,
                           const MakeSpaces& make_spaces, const http::Client::Observer& on_attempt)
    : runtime_(runtime),
      config_(std::move(config)),
      endpoint_(std::move(endpoint)),
      membership_(endpoint_->join({.on_attempt = on_attempt})),
      log_(std::move(log)),
      api_(runtime, endpoint_->account(), log_, on_attempt),
      spaces_(make_spaces(api_)) {}

Task<> SpaceAdapter::start() {
  endpoint_->start();
  co_return;
}

Task<> SpaceAdapter::stop() {
  co_await endpoint_->leave(membership_);
}

Task<driver::Instance> SpaceAdapter::create(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  SpaceLaunch launch(
      {runtime_, *config_, api_, *spaces_, endpoint_->pods(), endpoint_->awaited(), log_},
      std::move(spec), steps);
  co_return co_await launch.run();
}

Task<> SpaceAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  std::function<void()> accepted = [&steps] { steps.removal_accepted(); };
  co_await remove_space(external_id.string_value(), std::move(accepted));
}

// A namespace exists until its controllers have deleted its contents.
Task<> SpaceAdapter::remove_space(std::string name, std::function<void()> accepted) {
  if (name.empty()) throw CloudError(CloudError::Kind::failed, "the node's external id is no name");
  const bool was_there = co_await spaces_->remove(name);
  if (!was_there) co_return;
  if (accepted) accepted();
  driver::SharedPoller<SpaceList>& space_list = endpoint_->space_list();
  driver::PollWaiter awaited = space_list.await_removal();
  while (true) {
    const auto list = co_await driver::if_answered(space_list.next(awaited), "namespaces", log_);
    if (!list) continue;
    const Space* space = list->find(name);
    // If it is not being deleted, it is a new one with the same name.
    if (space == nullptr || !space->is_going) co_return;
  }
}

Task<std::vector<driver::Instance>> SpaceAdapter::instances() {
  const auto list = co_await endpoint_->space_list().get(kNow);
  std::vector<Space> of_nodes;
  for (const Space& space : list->all()) {
    if (is_of_a_node(space)) of_nodes.push_back(space);
  }
  if (config_->is_limited_to_capacity()) {
    co_return co_await cluster_usage(api_, std::move(of_nodes));
  }
  std::vector<driver::Instance> instances;
  for (const Space& space : of_nodes) {
    driver::Instance instance;
    instance.external_id = model::json_string(space.name);
    instance.metadata = space.attached;
    instances.push_back(std::move(instance));
  }
  co_return instances;
}

Task<std::vector<driver::Resource>> SpaceAdapter::resources() {
  std::vector<driver::Resource> resources;
  const auto list = co_await endpoint_->space_list().get(kNow);
  for (const Space& space : list->all()) {
    if (space.is_going || !is_of_a_node(space)) continue;
    resources.push_back({.type = std::string(driver::kInstanceResource),
                         .id = space.name,
                         .metadata = space.attached});
  }
  co_return resources;
}

Task<> SpaceAdapter::remove_resource(driver::Resource resource) {
  if (resource.type != driver::kInstanceResource)
    co_await driver::Adapter::remove_resource(resource);
  co_await remove_space(std::move(resource.id), {});
}

Task<driver::CloudDescription> SpaceAdapter::describe(
    driver::CloudDescription::Purpose /*purpose*/) {
  driver::CloudDescription described;
  described.labels = describe_labels(*config_);
  if (config_->is_limited_to_capacity()) described.limits = co_await cluster_capacity(api_);
  co_return described;
}

Task<bool> SpaceAdapter::is_usable(model::Node node) {
  const std::string pod = node.interface_ip.value_or("");
  if (pod.empty()) co_return true;
  co_return co_await runs(api_, node.external_id.string_value(), pod);
}

std::map<driver::LabelKey, driver::LabelDescription> describe_labels(const KubeConfig& config) {
  std::map<driver::LabelKey, driver::LabelDescription> labels;
  for (const auto& [pool_name, pool] : config.pools()) {
    for (const std::string& name : pool.labels) {
      const KubeLabel& label = config.label(pool_name, name);
      driver::LabelDescription& described = labels[{pool_name, name}];
      described.need = label.need;
      if (label.has_pod && label.image.empty() && label.spec.is_null()) {
        described.problem = driver::images_unavailable("the label has neither `image` nor `spec`");
      }
    }
  }
  return labels;
}

Task<bool> runs(KubeApi& api, std::string space, std::string pod) {
  try {
    const auto found = co_await api.find("get pod", "/api/v1/namespaces/" + space + "/pods/" + pod);
    if (!found) co_return false;
    const Pod seen = read_pod(*found);
    co_return seen.phase == "Running" && !seen.is_going;
  } catch (const CloudError&) {
    co_return true;
  }
}

}  // namespace nodepool::drivers::kubernetes
