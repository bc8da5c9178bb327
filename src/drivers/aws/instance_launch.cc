#include "drivers/aws/instance_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "cloud/base64.h"
#include "cloud/digest.h"
#include "cloud/metadata.h"
#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/aws/external_id.h"
#include "drivers/aws/poll_intervals.h"
#include "drivers/aws/usage.h"

namespace nodepool::drivers::aws {

using async::Task;
using driver::CloudError;
using driver::Instance;
using driver::Resources;

namespace {

constexpr const char* kHostStep = "host";
constexpr const char* kInstanceStep = "instance";
constexpr std::size_t kTokenSize = 32;  // AWS takes up to 64 characters

// The error of an instance that did not come up.
CloudError failure_of(const Ec2Instance& instance) {
  const auto says = [&instance](std::string_view word) {
    return instance.reason_code.find(word) != std::string::npos;
  };
  CloudError::Kind kind = CloudError::Kind::failed;
  if (says("LimitExceeded")) kind = CloudError::Kind::quota;
  if (says("InsufficientInstanceCapacity")) kind = CloudError::Kind::no_capacity;
  return {kind, state_in_words(instance)};
}

// The refusal of a repetition whose first attempt has an unknown outcome has another kind.
bool is_missing_template(const CloudError& error) {
  return error.kind() == CloudError::Kind::not_found &&
         error.code().starts_with("InvalidLaunchTemplateName.NotFound");
}

}  // namespace

InstanceLaunch::InstanceLaunch(MachineContext context, driver::CreateSpec spec,
                               driver::LaunchSteps& steps)
    : context_(std::move(context)),
      spec_(std::move(spec)),
      steps_(steps),
      requested_at_(context_.runtime.clock.now()),
      awaited_(context_.view.instances().await_earlier()) {}

const AwsLabel& InstanceLaunch::label() const {
  return context_.config.label(spec_.pool, spec_.label);
}

Task<Instance> InstanceLaunch::run() {
  if (label().dedicated_host) {
    steps_.enter("allocating a dedicated host");
    const driver::LaunchSteps::Make make_host = [this] { return this->make_host(); };
    const driver::LaunchSteps::Find find_host = [this] { return this->find_host(); };
    host_id_ = co_await steps_.step(kHostStep, make_host, find_host);
    steps_.enter("waiting for the dedicated host");
    co_await wait_for_host();
  }
  steps_.enter("creating instance");
  const driver::LaunchSteps::Make make = [this] { return make_instance(); };
  const driver::LaunchSteps::Find find = [this] { return find_instance(); };
  const std::string id = co_await steps_.step(kInstanceStep, make, find);
  steps_.enter("waiting for the instance");
  const Ec2Instance instance = co_await wait_until_running(id);
  Instance described = describe(context_.config, instance);
  described.external_id = to_json({.instance = instance.id, .host = host_id_});
  Task<Resources> asking = resources_with(instance.type);
  described.resources =
      co_await driver::if_answered(std::move(asking), "instance types", context_.log);
  described.node_properties = model::Json::parse(
      fmt::format(R"({{"fleet": {}, "spot": {}}})", label().fleet.has_value(), label().use_spot));
  co_return described;
}

// The idempotency token of a step: a hash of the node, the installation and the attempt. If the
// configuration has changed since an earlier run, AWS rejects it with
// IdempotentParameterMismatch. Then the attempt fails, its resources are deleted, and the next
// attempt has another token.
std::string InstanceLaunch::token(std::string_view step) const {
  std::string text = fmt::format("{}/{}/{}", step, spec_.node_id, spec_.attempt);
  for (const auto& [key, value] : spec_.metadata) text += fmt::format("/{}={}", key, value);
  return cloud::sha256_hex(text).substr(0, kTokenSize);
}

// Without a configured zone, AWS uses the subnet's. `spec_.az` is the zone of an earlier attempt or
// of the request's other nodes: the pool's subnet may be in another one by now.
RunInstancesRequest InstanceLaunch::parameters(std::string_view step) const {
  const std::vector<std::string>& zones = context_.config.machine_pool(spec_.pool).zones;
  return {.pool = context_.config.pool(spec_.pool),
          .label = label(),
          .image_id = {},
          .root = std::nullopt,
          .zone = zones.empty() ? std::string() : zones.front(),
          .host_id = host_id_,
          .token = token(step),
          .tags = tags()};
}

Task<std::string> InstanceLaunch::make_host() {
  std::string id;
  try {
    id = co_await context_.ec2.allocate_host(host_query(parameters(kHostStep)));
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::quota) context_.view.forget();
    throw;
  }
  steps_.set_external_id(to_json({.instance = {}, .host = id}));
  co_return id;
}

Task<std::optional<std::string>> InstanceLaunch::find_host() {
  const auto list = co_await context_.view.hosts(async::Duration::zero());
  for (const DedicatedHost& host : list->all()) {
    const bool is_ours = !spec_.metadata.empty() && driver::carries(host.tags, spec_.metadata);
    if (host.is_gone() || !is_ours) continue;
    steps_.set_external_id(to_json({.instance = {}, .host = host.id}));
    co_return host.id;
  }
  co_return std::nullopt;
}

Task<> InstanceLaunch::wait_for_host() {
  while (true) {
    const auto list = co_await driver::if_answered(context_.view.hosts(kPollInterval),
                                                   "dedicated hosts", context_.log);
    const DedicatedHost* host = list ? list->find(host_id_) : nullptr;
    if (host != nullptr && host->state == "available") co_return;
    if (host != nullptr && host->state != "pending") {
      throw CloudError(CloudError::Kind::failed,
                       fmt::format("dedicated host {} is {}", host_id_, host->state));
    }
    co_await context_.runtime.clock.sleep_for(kPollInterval);
  }
}

Task<std::string> InstanceLaunch::make_instance() {
  std::string id;
  const CloudView::Instances::PendingCreate pending_create(context_.view.instances());
  try {
    id = co_await run_instance();
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::quota) context_.view.forget();
    if (error.kind() != CloudError::Kind::not_found) throw;
    context_.view.forget();  // the image may have been replaced
    throw CloudError(CloudError::Kind::failed, error.what());
  }
  awaited_ = pending_create.await(spec_.expected);
  steps_.set_external_id(to_json({.instance = id, .host = host_id_}));
  co_return id;
}

Task<std::string> InstanceLaunch::run_instance() {
  RunInstancesRequest wanted = parameters(kInstanceStep);
  wanted.image_id = co_await image_id();
  if (label().fleet) co_return co_await create_fleet(std::move(wanted));
  wanted.root = co_await context_.view.root_device(wanted.image_id);
  if (!wanted.root && label().volume.is_wanted()) {
    throw CloudError(CloudError::Kind::failed,
                     "AMI " + wanted.image_id +
                         " has no EBS root volume: the label's volume options have no effect");
  }
  Query query = instance_query(wanted);
  requested_at_ = context_.runtime.clock.now();
  co_return co_await context_.ec2.run_instance(std::move(query));
}

// Repeats the call once if the template is gone: a Python Nodepool with the same provider deletes
// all templates of the provider that it would not create itself. AWS refuses the whole call, so its
// token is unused.
Task<std::string> InstanceLaunch::create_fleet(RunInstancesRequest request) {
  for (bool is_repeated = false;; is_repeated = true) {
    const std::string name = co_await context_.templates.of(spec_.pool, spec_.label);
    Query query = fleet_query(request, name);
    requested_at_ = context_.runtime.clock.now();
    try {
      co_return co_await context_.ec2.create_fleet(std::move(query));
    } catch (const CloudError& error) {
      if (!is_missing_template(error)) throw;
      context_.templates.forget(name);
      if (is_repeated) throw;
    }
  }
}

Task<std::string> InstanceLaunch::image_id() {
  if (!spec_.image_external_id.empty()) co_return spec_.image_external_id;
  const std::optional<AmiReference> image = label().cloud_image;
  std::optional<std::string> id;
  if (image) id = co_await context_.view.image_id(*image);
  if (!id) {
    throw CloudError(CloudError::Kind::failed,
                     "no AMI matches the filters of `" + spec_.image_name + "`");
  }
  co_return *id;
}

driver::Metadata InstanceLaunch::tags() const {
  const cloud::LabelMetadata wanted{.fixed = label().tags, .dynamic = label().dynamic_tags};
  driver::Metadata tags = cloud::machine_metadata(wanted, spec_, "dynamic-tags", context_.log);
  tags["Name"] = spec_.hostname;
  return tags;
}

// Uses a list from after the request: an older one may show the instance of an earlier attempt.
Task<std::optional<std::string>> InstanceLaunch::find_instance() {
  const async::Duration since_request = context_.runtime.clock.now() - requested_at_;
  const auto list = co_await context_.view.instances().get(std::min(kPollInterval, since_request));
  const auto ours = [this](const Ec2Instance& instance) {
    return !instance.is_going() && driver::carries(instance.tags, spec_.metadata);
  };
  const auto found = std::ranges::find_if(list->all(), ours);
  if (found == list->all().end() || spec_.metadata.empty()) co_return std::nullopt;
  steps_.set_external_id(to_json({.instance = found->id, .host = host_id_}));
  co_return found->id;
}

Task<Ec2Instance> InstanceLaunch::wait_until_running(std::string id) {
  const auto runs = [](const Ec2Instance& instance) {
    if (instance.state != "running" && instance.state != "pending") throw failure_of(instance);
    return instance.state == "running";
  };
  const CloudError absence(CloudError::Kind::failed, "instance " + id + " has disappeared");
  const std::function<Task<bool>()> is_gone = [this, &id] { return context_.ec2.is_gone(id); };
  const driver::ListingWait wait{context_.runtime, context_.log, "instances"};
  Ec2Instance instance = co_await driver::wait_in_listing(
      wait, context_.view.instances(), awaited_, id, runs, kConsistencyDelay, absence, is_gone);
  steps_.booted(awaited_.taken());
  co_return instance;
}

Task<Resources> InstanceLaunch::resources_with(std::string type_name) {
  const auto types = co_await context_.view.types({type_name});
  const auto type = types.find(type_name);
  if (type == types.end()) co_return Resources({{"instances", 1}});
  co_return label_resources(label(), type->second);
}

Instance describe(const AwsConfig& config, const Ec2Instance& instance) {
  const auto if_any = [](const std::string& text) -> std::optional<std::string> {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  Instance described;
  described.external_id = to_json({.instance = instance.id, .host = {}});
  described.metadata = instance.tags;
  described.public_ipv4 = if_any(instance.public_ipv4);
  described.public_ipv6 = if_any(instance.ipv6);
  described.private_ipv4 = if_any(instance.private_ipv4);
  described.interface_ip = described.public_ipv4;
  if (!described.interface_ip) described.interface_ip = described.public_ipv6;
  if (!described.interface_ip) described.interface_ip = described.private_ipv4;
  described.cloud = "AWS";
  described.region = config.account().region;
  described.az = if_any(instance.zone);
  return described;
}

}  // namespace nodepool::drivers::aws
