#include "drivers/kubernetes/space_adapter.h"

#include <algorithm>
#include <map>
#include <utility>

#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/kubernetes/api/classify.h"
#include "drivers/kubernetes/capacity.h"
#include "drivers/kubernetes/metadata.h"
#include "drivers/kubernetes/names.h"

namespace nodepool::drivers::kubernetes {

using async::Task;
using driver::CloudError;

namespace {

// When the contents of a namespace that is being deleted are reported as obstacles: many take a
// while to end.
constexpr auto kObstaclePatience = std::chrono::minutes(5);

bool is_of_a_node(const Space& space) {
  return !driver::value_of(space.attached, driver::kNodeIdKey).empty();
}

bool has_pods(const KubeConfig& config) {
  return std::ranges::any_of(config.pools(), [&config](const auto& pool) {
    return std::ranges::any_of(pool.second.labels, [&](const std::string& label) {
      return config.label(pool.first, label).has_pod;
    });
  });
}

std::string label_of(const Space& space) {
  return driver::value_of(space.attached, kNodeLabelKey);
}

driver::Machine machine_of(const Space& space, std::string_view word) {
  driver::Machine machine;
  machine.external_id = model::json_string(space.name);
  machine.type = kNodeResource;
  using State = driver::Machine::State;
  machine.state = space.is_going ? State::deleting : State::running;
  if (space.is_going) {
    machine.explanation = fmt::format("{} {} is being deleted", word, space.name);
  }
  return machine;
}

// The pod of a node; null: none. The Python Nodepool gives it the label's unconverted name.
const Pod* pod_of(const Space& space, const PodList& pods) {
  const std::string label = label_of(space);
  for (const std::string& name : {object_name(label), label}) {
    const Pod* pod = pods.find(space.name + "/" + name);
    if (pod != nullptr) return pod;
  }
  return nullptr;
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

Task<> SpaceAdapter::start(std::function<void()> /*changed*/) {
  endpoint_->start();
  co_return;
}

Task<> SpaceAdapter::stop() {
  co_await endpoint_->leave(membership_);
}

Task<driver::Instance> SpaceAdapter::create(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  SpaceLaunch launch({runtime_, *config_, api_, *spaces_, endpoint_->pods(), log_}, std::move(spec),
                     steps);
  co_return co_await launch.run();
}

Task<> SpaceAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  std::function<void()> accepted = [&steps] { steps.removal_accepted(); };
  co_await remove_space(external_id.string_value(), std::move(accepted));
}

// A namespace exists until its controllers have deleted its contents, which finalizers may hold up
// for ever.
Task<> SpaceAdapter::remove_space(std::string name, std::function<void()> accepted) {
  if (name.empty()) throw CloudError(CloudError::Kind::failed, "the node's external id is no name");
  const bool was_there = co_await spaces_->remove(name);
  if (!was_there) {
    throw CloudError(CloudError::Kind::not_found,
                     fmt::format("{} {} does not exist", spaces_->word(), name));
  }
  if (accepted) accepted();
  driver::SharedPoller<SpaceList>& space_list = endpoint_->space_list();
  driver::PollWaiter awaited = space_list.await_removal();
  // If it is not being deleted, it is a new one with the same name.
  const auto begun = runtime_.clock.now();
  const auto removal_of = [this, begun](const Space& space) {
    if (!space.is_going) return driver::Removal::done;
    const bool is_due = runtime_.clock.now() - begun >= kObstaclePatience;
    if (is_due && !space.obstacles.empty()) {
      throw CloudError(CloudError::Kind::failed,
                       fmt::format("{} {} is still being deleted: {}", spaces_->word(), space.name,
                                   space.obstacles));
    }
    return driver::Removal::in_progress;
  };
  const std::function<Task<bool>()> is_gone = [this, &name] { return this->is_gone(name); };
  const driver::ListingWait wait{runtime_, log_, "namespaces"};
  co_await driver::wait_until_gone(wait, space_list, awaited, name, removal_of,
                                   traits().consistency_delay, is_gone);
}

// OpenShift lists projects from a cache of permissions. A user who may not even read the namespace
// deletes it once more: nothing else says whether it exists.
Task<bool> SpaceAdapter::is_gone(std::string name) {
  try {
    const std::optional<Space> found = co_await spaces_->find(name);
    co_return !found || !found->is_going;
  } catch (const CloudError& error) {
    if (!lacks_permission(error)) throw;
  }
  const bool was_there = co_await spaces_->remove(name);
  co_return !was_there;
}

Task<driver::MachineList> SpaceAdapter::list() {
  const auto spaces = co_await endpoint_->space_list().get(kListingAge);
  const std::shared_ptr<const PodList> pods = co_await this->pods();
  driver::MachineList list{.machines = {}, .is_complete = spaces->is_known()};
  for (const Space& space : spaces->all()) {
    if (!is_of_a_node(space)) continue;
    driver::Machine& machine = list.machines.emplace_back(machine_of(space, spaces_->word()));
    machine.metadata = space.attached;
    if (space.is_going || !pods->is_known() || !needs_pod(space)) continue;
    const Pod* pod = pod_of(space, *pods);
    if (pod != nullptr) set_state(machine, *pod);
    if (pod == nullptr || pod->is_going) machine.state = driver::Machine::State::stopped;
    if (pod == nullptr) machine.explanation = "the pod of " + space.name + " has been deleted";
  }
  if (hosts_) add_usage(list.machines, pods->all(), *hosts_);
  // The projects of the Python Nodepool have no tags. Here they take no resources: their pods are
  // counted above, or with the records of their nodes.
  for (const Space& space : spaces->all()) {
    if (!is_of_a_node(space)) list.machines.push_back(machine_of(space, spaces_->word()));
  }
  co_return list;
}

Task<std::vector<driver::Machine>> SpaceAdapter::find_by_name(driver::CreateSpec spec) {
  std::vector<driver::Machine> machines;
  const std::vector<std::string> names = names_for(spec.pool, spec.node_id, spec.metadata);
  for (const std::string& name : names) {
    const std::optional<Space> found = co_await spaces_->find(name);
    if (!found) continue;
    machines.push_back(machine_of(*found, spaces_->word()));
    machines.back().metadata = found->attached;
  }
  co_return machines;
}

// All pods of the cluster if they count, otherwise those of nodes.
Task<std::shared_ptr<const PodList>> SpaceAdapter::pods() {
  if (config_->is_limited_to_capacity()) {
    co_return co_await endpoint_->cluster_pods().get(kListingAge);
  }
  if (!has_pods(*config_)) co_return std::make_shared<const PodList>(PodList::unknown());
  co_return co_await endpoint_->pods().get(kListingAge);
}

// Whether a pod belongs to the node, and is among pods().
bool SpaceAdapter::needs_pod(const Space& space) const {
  if (!spaces_->reports_pods()) return false;
  const auto pool = config_->pools().find(driver::value_of(space.attached, driver::kPoolNameKey));
  const std::string label = label_of(space);
  const bool is_known = pool != config_->pools().end() && pool->second.labels.contains(label);
  return is_known && config_->label(pool->first, label).has_pod;
}

Task<> SpaceAdapter::remove_resource(driver::Resource resource) {
  if (resource.type != kNodeResource) co_await driver::Adapter::remove_resource(resource);
  co_await remove_space(std::move(resource.id), {});
}

Task<driver::CloudDescription> SpaceAdapter::describe(
    driver::CloudDescription::Purpose /*purpose*/) {
  driver::CloudDescription described;
  described.labels = describe_labels(*config_);
  if (!config_->is_limited_to_capacity()) co_return described;
  ClusterCapacity capacity = co_await cluster_capacity(api_);
  described.limits = std::move(capacity.total);
  hosts_ = std::move(capacity.hosts);
  co_return described;
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

}  // namespace nodepool::drivers::kubernetes
