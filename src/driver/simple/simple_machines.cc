#include "driver/simple/simple_machines.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/if_exists.h"
#include "driver/ownership.h"
#include "driver/statemachine/wait_in_listing.h"

namespace nodepool::driver {

namespace {

// Minimum time between two listings.
constexpr auto kLeastPause = std::chrono::milliseconds(20);

}  // namespace

SimpleMachines::SimpleMachines(const ProviderContext& context,
                               std::shared_ptr<const StateMachineConfig> config,
                               std::shared_ptr<SimpleAdapter> cloud, SimpleOptions options)
    : runtime_(context.runtime),
      log_(context.log.child("driver." + config->name())),
      config_(std::move(config)),
      cloud_(std::move(cloud)),
      options_(options),
      tasks_(context.runtime, context.threads, config_->name(), options.tasks, context.metrics,
             log_),
      listing_(context.runtime, "list_instances",
               {.unknown = options.poll_interval, .least = kLeastPause}, [this] { return ask(); }) {
}

Task<> SimpleMachines::start(std::function<void()> /*changed*/) {
  tasks_.start();
  co_return;
}

Task<> SimpleMachines::stop() {
  co_await listing_.stop();
  co_await tasks_.stop();
}

// --- making a machine

Task<Instance> SimpleMachines::create(CreateSpec spec, LaunchSteps& steps) {
  PollWaiter awaited = listing_.await_earlier();
  const LaunchSteps::Make make_instance = [this, &spec, &steps, &awaited] {
    return make(spec, steps, awaited);
  };
  const LaunchSteps::Find find_instance = [this, &spec, &steps] {
    return find(spec.metadata, steps);
  };
  const std::string id = co_await steps.step("instance", make_instance, find_instance);
  steps.enter("waiting for the instance");
  const model::Json external_id = model::json_string(id);
  Absence absence(options_.consistency_delay);
  while (true) {
    const std::optional<Machine> seen = co_await poll(external_id, awaited);
    if (seen && seen->state == Machine::State::running) {
      steps.booted(awaited.taken());
      co_return *seen;
    }
    if (seen && seen->state == Machine::State::failed) {
      throw CloudError(CloudError::Kind::failed,
                       fmt::format("instance {} failed: {}", id, seen->explanation));
    }
    if (seen) {
      absence.reset();
    } else if (absence.is_final(runtime_.clock.now())) {
      throw CloudError(CloudError::Kind::failed, "instance " + id + " has disappeared");
    }
  }
}

Task<std::string> SimpleMachines::make(const CreateSpec& spec, LaunchSteps& steps,
                                       PollWaiter& awaited) {
  auto call = [cloud = cloud_, spec] { return cloud->create_instance(spec); };
  std::string id = co_await tasks_.submit("create_instance", std::move(call));
  awaited = listing_.await(spec.expected);
  steps.set_external_id(model::json_string(id));
  co_return id;
}

Task<std::optional<std::string>> SimpleMachines::find(Metadata ours, LaunchSteps& steps) {
  const auto listing = co_await listing_.get({});
  for (const Machine& machine : *listing) {
    if (machine.state == Machine::State::deleted) continue;
    if (!carries(machine.metadata, ours)) continue;
    steps.set_external_id(machine.external_id);
    co_return machine.external_id.string_value();
  }
  co_return std::nullopt;
}

Task<std::optional<Machine>> SimpleMachines::poll(model::Json external_id, PollWaiter& awaited) {
  while (true) {
    const auto listing = co_await if_answered(listing_.next(awaited), "instances", log_);
    if (!listing) continue;
    const auto found = std::ranges::find(*listing, external_id, &Machine::external_id);
    const bool is_there = found != listing->end() && found->state != Machine::State::deleted;
    co_return is_there ? std::optional(*found) : std::nullopt;
  }
}

// --- deleting a machine

Task<> SimpleMachines::remove(model::Json external_id, LaunchSteps& steps) {
  const bool was_there = co_await call_delete(external_id.string_value());
  if (was_there) steps.removal_accepted();
  PollWaiter awaited = listing_.await_removal();
  bool is_there = was_there;
  while (is_there) is_there = (co_await poll(external_id, awaited)).has_value();
}

Task<bool> SimpleMachines::call_delete(std::string id) {
  auto call = [cloud = cloud_, id = std::move(id)] { cloud->delete_instance(id); };
  co_return co_await if_exists(tasks_.submit("delete_instance", std::move(call)));
}

// --- listings and limits

Task<SimpleMachines::Machines> SimpleMachines::ask() {
  auto call = [cloud = cloud_] { return cloud->list_instances(); };
  co_return co_await tasks_.submit("list_instances", std::move(call));
}

Task<MachineList> SimpleMachines::list() {
  const auto listing = co_await listing_.get({});
  co_return MachineList{.machines = *listing};
}

Task<> SimpleMachines::remove_resource(Resource resource) {
  if (resource.type != kInstanceResource) co_await Adapter::remove_resource(resource);
  co_await call_delete(std::move(resource.id));
}

Task<CloudDescription> SimpleMachines::describe(CloudDescription::Purpose /*purpose*/) {
  auto call = [cloud = cloud_] { return cloud->quota_limits(); };
  CloudDescription described;
  described.limits = co_await tasks_.submit("quota_limits", std::move(call));
  const DescribeLabel describe = [this](std::string pool, std::string label) {
    return describe_label(std::move(pool), std::move(label));
  };
  described.labels = co_await describe_labels(*config_, describe);
  co_return described;
}

Task<LabelDescription> SimpleMachines::describe_label(std::string pool, std::string label) {
  LabelDescription described;
  const auto known = needs_.find({pool, label});
  if (known != needs_.end()) {
    described.need = known->second;
  } else {
    auto ask_need = [cloud = cloud_, pool, label] { return cloud->quota_for_label(pool, label); };
    described.need = co_await tasks_.submit("quota_for_label", std::move(ask_need));
    needs_.emplace(LabelKey(pool, label), described.need);
  }
  if (!config_->machine_label(pool, label).diskimage.empty()) co_return described;
  auto ask_problem = [cloud = cloud_, pool, label] { return cloud->label_problem(pool, label); };
  const auto problem = co_await tasks_.submit("label_problem", std::move(ask_problem));
  if (problem) described.problem = images_unavailable(*problem);
  co_return described;
}

std::unique_ptr<Adapter> SimpleDriver::adapter(std::shared_ptr<const ProviderConfig> config,
                                               ProviderContext context) const {
  auto machine_config = std::dynamic_pointer_cast<const StateMachineConfig>(config);
  Cloud simple = cloud(std::move(config));
  return std::make_unique<SimpleMachines>(context, std::move(machine_config),
                                          std::move(simple.adapter), simple.options);
}

}  // namespace nodepool::driver
