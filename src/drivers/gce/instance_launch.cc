#include "drivers/gce/instance_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/gce/api/refusal.h"

namespace nodepool::drivers::gce {

using async::Task;
using driver::CloudError;

namespace {

constexpr const char* kInstanceStep = "instance";
// How long the list may omit an instance whose operation is done or unknown.
constexpr async::Duration kConsistencyDelay = std::chrono::seconds(30);

}  // namespace

InstanceLaunch::InstanceLaunch(MachineContext context, driver::CreateSpec spec,
                               driver::LaunchSteps& steps)
    : context_(std::move(context)),
      spec_(std::move(spec)),
      steps_(steps),
      requested_at_(context_.runtime.clock.now()),
      awaited_(context_.view.instances().await_earlier()) {}

Task<driver::Instance> InstanceLaunch::run() {
  steps_.enter("creating instance");
  const driver::LaunchSteps::Make make = [this] { return make_instance(); };
  const driver::LaunchSteps::Find find = [this] { return find_instance(); };
  const std::string operation = co_await steps_.step(kInstanceStep, make, find);
  steps_.enter("waiting for the instance");
  const ComputeInstance instance = co_await wait_until_running(operation);
  driver::Instance described = describe(context_.config.account(), instance);
  Task<driver::Resources> asking = context_.view.taken_by(instance.machine_type);
  described.resources =
      co_await driver::if_answered(std::move(asking), "machine types", context_.log);
  co_return described;
}

Task<InstanceRequest> InstanceLaunch::request() {
  const GceLabel& label = context_.config.label(spec_.pool, spec_.label);
  const auto type = co_await context_.view.machine_type(label.instance_type);
  if (!type) {
    throw CloudError(CloudError::Kind::failed,
                     "the zone has no machine type `" + label.instance_type + "`");
  }
  std::optional<std::string> image;
  if (label.image) image = co_await context_.view.image(*label.image);
  if (!image) {
    throw CloudError(CloudError::Kind::failed, "there is no image for `" + spec_.image_name + "`");
  }
  InstanceRequest wanted{.name = spec_.hostname,
                         .zone = context_.config.account().zone,
                         .machine_type_url = type->url,
                         .image = *image,
                         .disk_type = label.volume_type,
                         .disk_size = label.volume_size,
                         .network = label.network,
                         .subnetwork = label.subnetwork,
                         .metadata = spec_.metadata,
                         .labels = label.labels};
  wanted.metadata.insert(label.metadata.begin(), label.metadata.end());
  if (!label.ssh_key.empty()) wanted.metadata["ssh-keys"] = label.ssh_key;
  co_return wanted;
}

Task<std::string> InstanceLaunch::make_instance() {
  InstanceRequest wanted = co_await request();
  std::string unique = fmt::format("{}/{}", spec_.node_id, spec_.attempt);
  for (const auto& [key, value] : spec_.metadata) unique += fmt::format("/{}={}", key, value);
  steps_.set_external_id(model::json_string(spec_.hostname));
  const CloudView::Instances::PendingCreate pending_create(context_.view.instances());
  requested_at_ = context_.runtime.clock.now();
  ComputeOperation operation;
  try {
    operation = co_await context_.compute.insert(std::move(wanted), request_id(unique));
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::quota) context_.view.forget_quotas();
    if (error.kind() != CloudError::Kind::not_found) throw;
    context_.view.forget_images();  // the image may have been replaced
    throw CloudError(CloudError::Kind::failed, error.what(), {}, error.code());
  }
  awaited_ = pending_create.await(spec_.expected);
  if (!operation.code.empty()) fail(operation);
  co_return operation.name;
}

// Throws the error of a failed operation, which has made no instance.
void InstanceLaunch::fail(const ComputeOperation& operation) {
  steps_.retract(kInstanceStep);
  const CloudError error = failure_of(operation, "gce: insert instance " + spec_.hostname);
  if (error.kind() == CloudError::Kind::quota) context_.view.forget_quotas();
  throw CloudError(error);
}

// Uses a list from after the request: an older one may show the instance of an earlier attempt.
Task<std::optional<std::string>> InstanceLaunch::find_instance() {
  const async::Duration since_request = context_.runtime.clock.now() - requested_at_;
  const auto list = co_await context_.view.instances().get(std::min(kPollInterval, since_request));
  const ComputeInstance* found = list->find(spec_.hostname);
  if (found == nullptr || found->is_going() || spec_.metadata.empty() ||
      !driver::carries(found->metadata, spec_.metadata)) {
    co_return std::nullopt;
  }
  steps_.set_external_id(model::json_string(spec_.hostname));
  co_return std::string();
}

// Refusals for quota and capacity are errors of the operation, after the call has succeeded. Such
// an instance is not listed, or only for a moment. While the list shows it in creation, the
// operation is not polled.
Task<ComputeInstance> InstanceLaunch::wait_until_running(std::string operation) {
  async::Clock& clock = context_.runtime.clock;
  driver::Absence absence(kConsistencyDelay);
  driver::Denials denials(clock);
  while (true) {
    const auto list = co_await driver::if_answered(context_.view.instances().next(awaited_),
                                                   "instances", context_.log, &denials);
    const ComputeInstance* instance = list ? list->find(spec_.hostname) : nullptr;
    if (instance != nullptr && instance->is_running()) {
      steps_.booted(awaited_.taken());
      co_return *instance;
    }
    if (!list || (instance != nullptr && instance->is_coming())) {
      absence.reset();
      continue;
    }
    const bool pending = co_await is_pending(operation);
    if (instance != nullptr) {
      throw CloudError(CloudError::Kind::failed, state_in_words(*instance));
    }
    if (!pending && !absence.is_final(clock.now())) continue;
    const bool gone = !pending && co_await is_gone();
    if (gone) {
      throw CloudError(CloudError::Kind::failed, "instance " + spec_.hostname + " has disappeared");
    }
    absence.reset();
  }
}

// Whether Google itself does not find the instance, which lists lack.
Task<bool> InstanceLaunch::is_gone() {
  Task<bool> asking = context_.compute.is_gone(spec_.hostname);
  return driver::if_answered(std::move(asking), "instances", context_.log);
}

// Whether the operation is in progress, or cannot be read for now. Throws its error. Returns false
// without the permission to read it: then lists decide, after the consistency delay.
Task<bool> InstanceLaunch::is_pending(std::string operation) {
  if (operation.empty()) co_return false;
  std::optional<ComputeOperation> found;
  try {
    found = co_await context_.compute.operation(operation);
  } catch (const CloudError& error) {
    context_.log.warning("Error polling operation {}: {}", operation, error.what());
    co_return true;
  }
  if (found && !found->code.empty()) fail(*found);
  co_return found && !found->is_done;
}

Task<> remove_instance(MachineContext context, std::string name, std::function<void()> accepted) {
  const bool was_there = co_await context.compute.remove(name);
  if (!was_there) {
    throw CloudError(CloudError::Kind::not_found, "instance " + name + " does not exist");
  }
  if (accepted) accepted();
  driver::BootTimes& times = context.view.removal_times();
  driver::PollWaiter awaited = context.view.instances().await_removal();
  awaited.expected = times.expectation();
  // A deletion is less urgent than a launch.
  if (awaited.expected) {
    awaited.expected->step = std::max(awaited.expected->step, kPollInterval);
  }
  const auto removal_of = [](const ComputeInstance& instance) {
    return instance.is_going() ? driver::Removal::in_progress : driver::Removal::not_begun;
  };
  const std::function<Task<bool>()> is_gone = [&context, &name] {
    return context.compute.is_gone(name);
  };
  const driver::ListingWait wait{context.runtime, context.log, "instances"};
  co_await driver::wait_until_gone(wait, context.view.instances(), awaited, name, removal_of,
                                   kConsistencyDelay, is_gone);
  if (const auto taken = awaited.taken()) times.learn(*taken);
}

driver::Instance describe(const Account& account, const ComputeInstance& instance) {
  const auto if_any = [](const std::string& text) -> std::optional<std::string> {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  driver::Instance described;
  described.external_id = model::json_string(instance.name);
  described.metadata = instance.metadata;
  described.public_ipv4 = if_any(instance.public_ipv4);
  described.private_ipv4 = if_any(instance.private_ipv4);
  described.interface_ip = described.public_ipv4 ? described.public_ipv4 : described.private_ipv4;
  described.cloud = "Google";
  described.region = account.zone.substr(0, account.zone.rfind('-'));
  described.az = account.zone;
  return described;
}

}  // namespace nodepool::drivers::gce
