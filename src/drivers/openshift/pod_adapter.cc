#include "drivers/openshift/pod_adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <ranges>

#include "cloud/base64.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/kubernetes/api/classify.h"
#include "drivers/kubernetes/kubeconfig/kubeconfig.h"
#include "drivers/kubernetes/manifests.h"
#include "drivers/kubernetes/metadata.h"
#include "drivers/kubernetes/names.h"
#include "drivers/kubernetes/space_launch.h"

namespace nodepool::drivers::openshift {

using async::Task;
using driver::CloudError;
using kubernetes::Element;
using kubernetes::KubeApi;
using kubernetes::Pod;
using kubernetes::PodList;

namespace {

std::string pods_of(const std::string& space) {
  return "/api/v1/namespaces/" + space + "/pods";
}

std::string loss_in(const std::string& space) {
  return fmt::format(
      "Reading the pods of project {} one by one, and not noticing leaks, other pods, and that the "
      "pod of a ready node has ended",
      space);
}

std::string id_of(const std::string& space, const std::string& pod) {
  return space + "-" + pod;
}

std::vector<std::string> names_of(const driver::CreateSpec& spec) {
  return kubernetes::names_for(kubernetes::object_name(spec.label), spec.node_id, spec.metadata);
}

driver::Machine machine_of(const Pod& pod) {
  driver::Machine machine;
  machine.external_id = model::json_string(id_of(pod.space, pod.name));
  machine.metadata = pod.attached;
  kubernetes::set_state(machine, pod);
  const bool has_ended = pod.phase == "Succeeded" || pod.phase == "Failed";
  if (!has_ended) machine.resources = pod.request;
  return machine;
}

}  // namespace

PodAdapter::PodAdapter(const async::Runtime& runtime,
                       std::shared_ptr<const kubernetes::KubeConfig> config,
                       async::ThreadPool& threads, telemetry::Logger log,
                       http::Client::Observer on_attempt)
    : runtime_(runtime),
      config_(std::move(config)),
      log_(std::move(log)),
      account_(runtime, config_->cluster(), threads, log_),
      api_(runtime, account_, log_, std::move(on_attempt)),
      watcher_(runtime, api_, log_) {
  for (const auto& [space, pool] : config_->pools()) {
    permissions_.try_emplace(space, runtime, log_, "the pods of project " + space, loss_in(space));
    pods_.try_emplace(space, runtime, "OpenShift pods", kubernetes::kWatched, [this, space] {
      return list_pods(space, std::string(kubernetes::kOfNodes));
    });
  }
}

Task<> PodAdapter::start(std::function<void()> /*changed*/) {
  for (auto& [space, pods] : pods_) {
    watcher_.follow("watch pods", pods_of(space), std::string(kubernetes::kOfNodes),
                    [&pods] { pods.poll_now(); });
  }
  co_return;
}

Task<> PodAdapter::stop() {
  co_await watcher_.stop();
  for (auto& [space, pods] : pods_) co_await pods.stop();
  co_await account_.stop();
}

// Unknown if the user may not list them.
Task<PodList> PodAdapter::list_pods(const std::string& space, const std::string& query) {
  return permissions_.at(space).list<PodList>(
      api_.list("list pods", pods_of(space), query, kubernetes::read_pod));
}

Task<std::optional<Pod>> PodAdapter::find_pod(PodName pod_name) {
  const auto found = co_await api_.find("get pod", pods_of(pod_name.space) + "/" + pod_name.name);
  if (!found) co_return std::nullopt;
  co_return kubernetes::read_pod(*found);
}

// --- making pods

Task<driver::Instance> PodAdapter::create(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  const driver::LaunchSteps::Make make = [&] { return make_pod(spec, steps); };
  const driver::LaunchSteps::Find find = [&] { return find_made_pod(spec, steps); };
  driver::SharedPoller<PodList>& pods = pods_.at(spec.pool);
  driver::PollWaiter awaited = pods.await(spec.expected);
  const std::string name = co_await steps.step("pod", make, find);
  steps.enter("waiting for the pod");
  const PodName pod_name{.space = spec.pool, .name = name};
  kubernetes::PodWait wait{.runtime = runtime_,
                           .log = log_,
                           .space = spec.pool,
                           .name = name,
                           .find = [this, pod_name] { return find_pod(pod_name); },
                           .enter = [&steps](std::string state) { steps.enter(std::move(state)); }};
  Pod running = co_await kubernetes::wait_until_running(std::move(wait), pods, awaited);
  steps.booted(awaited.taken());
  co_return co_await instance_of(std::move(spec), std::move(running));
}

Task<std::string> PodAdapter::make_pod(driver::CreateSpec spec, driver::LaunchSteps& steps) {
  const kubernetes::KubeLabel& label = config_->label(spec.pool, spec.label);
  const driver::Metadata attached = kubernetes::attached_for(label, spec, log_);
  const std::vector<std::string> names = names_of(spec);
  for (const std::string& name : names) {
    bool is_made =
        co_await api_.make("create pod", pods_of(spec.pool), kubernetes::pod(label, name, attached),
                           KubeApi::Retry::forbidden);
    if (!is_made) is_made = co_await is_ours(PodName(spec.pool, name), spec.metadata);
    if (!is_made) continue;
    steps.set_external_id(model::json_string(id_of(spec.pool, name)));
    co_return name;
  }
  throw CloudError(CloudError::Kind::failed,
                   fmt::format("pods {} and {} of {} already exist for others", names.front(),
                               names.back(), spec.pool));
}

Task<std::optional<std::string>> PodAdapter::find_made_pod(driver::CreateSpec spec,
                                                           driver::LaunchSteps& steps) {
  const std::vector<std::string> names = names_of(spec);
  for (const std::string& name : names) {
    const bool found = co_await is_ours(PodName(spec.pool, name), spec.metadata);
    if (!found) continue;
    steps.set_external_id(model::json_string(id_of(spec.pool, name)));
    co_return name;
  }
  co_return std::nullopt;
}

Task<bool> PodAdapter::is_ours(PodName pod_name, driver::Metadata tags) {
  const std::optional<Pod> pod = co_await find_pod(std::move(pod_name));
  co_return pod && !pod->is_going && driver::carries(pod->attached, tags);
}

// The node is accessed as the provider's own user.
Task<driver::Instance> PodAdapter::instance_of(driver::CreateSpec spec, Pod pod) {
  const kubernetes::Cluster& cluster = config_->cluster();
  const std::string ca = cluster.ca.empty() ? "" : cloud::base64(content_of(cluster.ca));
  const std::string token = co_await api_.token();
  driver::Instance instance;
  instance.external_id = model::json_string(id_of(pod.space, pod.name));
  instance.metadata = pod.attached;
  instance.resources = config_->label(spec.pool, spec.label).need;
  instance.interface_ip = pod.name;
  instance.cloud = config_->context();
  if (!pod.host.empty()) instance.host_id = pod.host;
  instance.connection.port = model::Json::parse(
      kubernetes::connection_port(cluster, pod.space, pod.name, token, ca, false).dump());
  co_return instance;
}

// --- deleting pods

// The id is the namespace and the pod's name joined with "-", as in the Python Nodepool. If a
// pool's name is a prefix of another's, asks the cluster which one it is, the longest name first. A
// project that may not be read matters only if no other one has the pod.
Task<std::optional<PodAdapter::PodName>> PodAdapter::find_name(std::string id) {
  std::exception_ptr refusal;
  for (const auto& [space, pool] : config_->pools() | std::views::reverse) {
    if (!id.starts_with(space + "-")) continue;
    PodName pod_name{.space = space, .name = id.substr(space.size() + 1)};
    try {
      const std::optional<Pod> pod = co_await find_pod(pod_name);
      if (!pod) continue;
      const bool is_ours =
          driver::value_of(pod->attached, driver::kProviderNameKey) == config_->name();
      if (is_ours) co_return pod_name;
    } catch (const CloudError& error) {
      if (!kubernetes::lacks_permission(error)) throw;
      refusal = std::current_exception();
    }
  }
  if (refusal) std::rethrow_exception(refusal);
  co_return std::nullopt;
}

Task<> PodAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  std::function<void()> accepted = [&steps] { steps.removal_accepted(); };
  co_await remove_pod(external_id.string_value(), std::move(accepted));
}

Task<> PodAdapter::remove_pod(std::string id, std::function<void()> accepted) {
  const bool has_pool = std::ranges::any_of(
      config_->pools(), [&id](const auto& entry) { return id.starts_with(entry.first + "-"); });
  if (!has_pool) {
    log_.error("Not deleting pod {}: no pool is configured for its project", id);
    co_return;
  }
  const std::optional<PodName> pod_name = co_await find_name(id);
  if (!pod_name) co_return;
  const bool was_there =
      co_await api_.remove("delete pod", pods_of(pod_name->space) + "/" + pod_name->name);
  if (!was_there) co_return;
  if (accepted) accepted();
  driver::SharedPoller<PodList>& pods = pods_.at(pod_name->space);
  driver::PollWaiter awaited = pods.await_removal();
  // If it is not being deleted, it is a new one with the same name.
  const auto removal_of = [](const Pod& pod) {
    return pod.is_going ? driver::Removal::in_progress : driver::Removal::done;
  };
  std::string path = pod_name->space + "/" + pod_name->name;
  const std::function<Task<bool>()> is_gone = [this, &pod_name] {
    return this->is_gone(*pod_name);
  };
  const driver::ListingWait wait{runtime_, log_, "pods"};
  co_await driver::wait_until_gone(wait, pods, awaited, std::move(path), removal_of,
                                   traits().consistency_delay, is_gone);
}

Task<bool> PodAdapter::is_gone(PodName pod_name) {
  const std::optional<Pod> pod = co_await find_pod(std::move(pod_name));
  co_return !pod || !pod->is_going;
}

// --- listings and limits

// All pods of the projects count.
Task<driver::MachineList> PodAdapter::list() {
  driver::MachineList list;
  for (const auto& [space, pool] : config_->pools()) {
    const PodList pods = co_await list_pods(space, "");
    for (const Pod& pod : pods.all()) list.machines.push_back(machine_of(pod));
    list.is_complete = list.is_complete && pods.is_known();
  }
  co_return list;
}

// The project of a removed pool may not be readable any more; its pods stay anyway.
Task<std::vector<driver::Machine>> PodAdapter::find_by_name(driver::CreateSpec spec) {
  std::vector<driver::Machine> machines;
  if (!config_->pools().contains(spec.pool)) co_return machines;
  const std::vector<std::string> names = names_of(spec);
  for (const std::string& name : names) {
    const std::optional<Pod> pod = co_await find_pod(PodName(spec.pool, name));
    if (pod) machines.push_back(machine_of(*pod));
  }
  co_return machines;
}

Task<> PodAdapter::remove_resource(driver::Resource resource) {
  if (resource.type != driver::kInstanceResource)
    co_await driver::Adapter::remove_resource(resource);
  co_await remove_pod(std::move(resource.id), {});
}

Task<driver::CloudDescription> PodAdapter::describe(driver::CloudDescription::Purpose /*purpose*/) {
  driver::CloudDescription described;
  described.labels = kubernetes::describe_labels(*config_);
  std::vector<driver::Limits> limits;
  for (const auto& [space, pool] : config_->pools()) {
    limits.push_back(limits_of(co_await quotas_of(space)));
  }
  described.limits = sum_of(limits);
  co_return described;
}

// The user may not be allowed to list them.
Task<std::vector<Element>> PodAdapter::quotas_of(std::string space) {
  try {
    co_return co_await api_.list("list resource quotas",
                                 "/api/v1/namespaces/" + space + "/resourcequotas", "",
                                 std::identity());
  } catch (const CloudError& error) {
    if (!kubernetes::lacks_permission(error)) throw;
    if (!has_reported_quotas_) log_.warning("Ignoring resource quotas: {}", error.what());
    has_reported_quotas_ = true;
  }
  co_return std::vector<Element>{};
}

driver::Limits limits_of(const std::vector<Element>& quotas) {
  driver::Limits limits;
  const auto limit = [&limits](const std::string& name, double most) {
    const auto [known, is_new] = limits.try_emplace(name, most);
    if (!is_new) known->second = std::min(known->second, most);
  };
  for (const Element& quota : quotas) {
    const auto spec = quota.optional_object("spec");
    const auto status = quota.optional_object("status");
    const auto hard = status ? status->optional_object("hard") : std::nullopt;
    const bool is_partial = spec && (spec->has("scopes") || spec->has("scopeSelector"));
    if (!hard || is_partial) continue;
    for (const auto& [name, most] : kubernetes::amounts_of(*hard, "requests.")) limit(name, most);
    for (const auto& [name, most] : kubernetes::amounts_of(*hard)) {
      const bool is_plain =
          name == "instances" || name == "cores" || name == "ram" || name == "ephemeral-storage";
      if (is_plain) limit(name, most);
      if (name == "count/pods") limit("instances", most);
    }
  }
  return limits;
}

driver::Limits sum_of(const std::vector<driver::Limits>& limits) {
  if (limits.empty()) return {};
  driver::Limits sum = limits.front();
  for (std::size_t i = 1; i < limits.size(); ++i) {
    for (auto entry = sum.begin(); entry != sum.end();) {
      const auto other = limits[i].find(entry->first);
      if (other == limits[i].end()) {
        entry = sum.erase(entry);
      } else {
        entry->second += other->second;
        ++entry;
      }
    }
  }
  return sum;
}

}  // namespace nodepool::drivers::openshift
