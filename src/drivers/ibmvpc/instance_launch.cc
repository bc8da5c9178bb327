#include "drivers/ibmvpc/instance_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/ibmvpc/api/refusal.h"
#include "drivers/ibmvpc/owner_names.h"

namespace nodepool::drivers::ibmvpc {

using async::Task;
using driver::CloudError;
using Kind = CloudError::Kind;

namespace {

constexpr const char* kFloatingIpStep = "floating ip";

}  // namespace

VpcLaunch::VpcLaunch(VpcContext context, driver::CreateSpec spec, driver::LaunchSteps& steps)
    : context_(std::move(context)),
      spec_(std::move(spec)),
      steps_(steps),
      label_(context_.config.label(spec_.pool, spec_.label)),
      requested_at_(context_.runtime.clock.now()),
      awaited_(context_.view.instances().await_earlier()),
      awaited_ip_(context_.view.floating_ips().await_earlier()) {}

Task<driver::Instance> VpcLaunch::run() {
  steps_.enter("creating instance");
  const driver::LaunchSteps::Make make = [this] { return make_instance(); };
  const driver::LaunchSteps::Find find = [this] { return find_instance(); };
  const std::string id = co_await steps_.step("instance", make, find);
  steps_.enter("waiting for the instance");
  const VpcInstance instance = co_await wait_until_running(id);
  driver::Instance described = describe(context_.config.account(), instance);
  Task<driver::Resources> asking = context_.view.taken_by(instance.profile);
  described.resources = co_await driver::if_answered(std::move(asking), "profiles", context_.log);
  // A floating IP that was begun is finished though the configuration has changed: the record must
  // have it.
  if (label_.public_ipv4 || steps_.has_begun(kFloatingIpStep)) {
    described.public_ipv4 = co_await add_floating_ip(instance.interface_id);
    described.interface_ip = described.public_ipv4;
  }
  co_return described;
}

std::string VpcLaunch::group() const {
  return group_name(context_.config.name(), spec_.pool);
}

Task<> VpcLaunch::choose_image(VpcInstanceRequest& wanted) {
  wanted.image_id = spec_.image_external_id;
  if (!wanted.image_id.empty()) co_return;
  std::optional<VpcImage> found;
  if (label_.image) {
    wanted.image_id = label_.image->id;
    wanted.image_href = label_.image->href;
    if (!wanted.image_id.empty() || !wanted.image_href.empty()) co_return;
    found = co_await context_.view.image(*label_.image);
  }
  if (!found) {
    throw CloudError(Kind::failed, "there is no image for `" + spec_.image_name + "`");
  }
  wanted.image_id = found->id;
}

Task<VpcInstanceRequest> VpcLaunch::request() {
  const std::string& vpc = context_.config.vpc();
  const auto names = co_await context_.view.names(vpc, label_, kAnyAge);
  if (const auto lack = names->lack_of(vpc, label_)) throw CloudError(Kind::failed, *lack);
  VpcInstanceRequest wanted{.name = spec_.hostname,
                            .group = co_await context_.view.group(group(), kAnyAge),
                            .vpc = names->vpcs.at(vpc),
                            .subnet = names->subnet(vpc, label_.subnet)->id,
                            .zone = label_.zone,
                            .profile = label_.profile,
                            .image_id = {},
                            .image_href = {},
                            .boot_disk_name = boot_disk_name(spec_.metadata),
                            .keys = {},
                            .user_data = label_.user_data,
                            .volume_profile = label_.volume_profile,
                            .volume_iops = label_.volume_iops,
                            .security_groups = label_.security_groups};
  // As for the Python Nodepool, uploaded images get no keys.
  for (const std::string& key : label_.keys) wanted.keys.push_back(names->keys.at(key));
  co_await choose_image(wanted);
  co_return wanted;
}

Task<std::string> VpcLaunch::make_instance() {
  const VpcInstanceRequest wanted = co_await request();
  steps_.set_external_id(model::json_string(spec_.hostname));
  const CloudView::Instances::PendingCreate pending_create(context_.view.instances());
  requested_at_ = context_.runtime.clock.now();
  std::string id;
  try {
    id = co_await context_.api.make_instance(wanted);
  } catch (const CloudError& error) {
    if (error.kind() != Kind::failed && error.kind() != Kind::not_found) throw;
    context_.view.forget_names();  // the image, a key, … may have been replaced
    if (error.kind() == Kind::failed) throw;
    throw CloudError(Kind::failed, error.what(), {}, error.code());
  }
  awaited_ = pending_create.await(spec_.expected);
  co_return id;
}

// Uses a listing from after the request: an older one may show the instance of an earlier attempt.
Task<std::optional<std::string>> VpcLaunch::find_instance() {
  const async::Duration since_request = context_.runtime.clock.now() - requested_at_;
  const auto list = co_await context_.view.instances().get(std::min(kPollInterval, since_request));
  for (const VpcInstance& instance : list->all()) {
    if (instance.name != spec_.hostname || instance.status == "deleting") continue;
    const driver::Metadata tags =
        owner_tags(instance.name, instance.group, instance.boot_disk_name);
    if (spec_.metadata.empty() || !driver::carries(tags, spec_.metadata)) continue;
    steps_.set_external_id(model::json_string(spec_.hostname));
    co_return instance.id;
  }
  co_return std::nullopt;
}

Task<VpcInstance> VpcLaunch::wait_until_running(std::string id) {
  const auto is_up = [](const VpcInstance& instance) {
    if (instance.is_coming()) return false;
    // The address may be known a little later.
    if (instance.is_running()) return !instance.private_ipv4.empty();
    throw failure_of(instance.reason_code, state_in_words(instance));
  };
  const std::function<Task<bool>()> is_gone = [this, &id] {
    return context_.api.is_instance_gone(id);
  };
  const driver::ListingWait wait{context_.runtime, context_.log, "instances"};
  const CloudError absence(Kind::failed, "instance " + spec_.hostname + " has disappeared");
  const VpcInstance instance = co_await driver::wait_in_listing(
      wait, context_.view.instances(), awaited_, id, is_up, kConsistencyDelay, absence, is_gone);
  steps_.booted(awaited_.taken());
  co_return instance;
}

Task<std::string> VpcLaunch::make_floating_ip(std::string interface_id) {
  std::string group_id = co_await context_.view.group(group(), kAnyAge);
  std::string name = spec_.hostname;
  requested_at_ = context_.runtime.clock.now();
  std::string id = co_await context_.api.make_floating_ip(std::move(name), std::move(group_id),
                                                          std::move(interface_id));
  awaited_ip_ = context_.view.floating_ips().await(context_.view.ip_times().expectation());
  co_return id;
}

// It gets its target some time after it was made, so that the name must do.
Task<std::optional<std::string>> VpcLaunch::find_floating_ip(std::string interface_id) {
  const async::Duration since_request = context_.runtime.clock.now() - requested_at_;
  const auto list =
      co_await context_.view.floating_ips().get(std::min(kPollInterval, since_request));
  for (const VpcFloatingIp& ip : list->all()) {
    const bool is_candidate = ip.name == spec_.hostname && ip.group == group();
    if (!is_candidate || ip.status == "deleting") continue;
    if (ip.target.empty() || ip.target == interface_id) co_return ip.id;
  }
  co_return std::nullopt;
}

// Returns the address, once it leads to the instance.
Task<std::string> VpcLaunch::add_floating_ip(std::string interface_id) {
  steps_.enter("creating floating IP");
  const driver::LaunchSteps::Make make = [this, interface_id] {
    return make_floating_ip(interface_id);
  };
  const driver::LaunchSteps::Find find = [this, interface_id] {
    return find_floating_ip(interface_id);
  };
  const std::string id = co_await steps_.step(kFloatingIpStep, make, find);
  steps_.enter("waiting for the floating IP");
  const auto is_attached = [interface_id](const VpcFloatingIp& ip) {
    if (ip.status == "failed" || ip.status == "deleting") {
      throw CloudError(Kind::failed, fmt::format("floating IP {} is {}", ip.name, ip.status));
    }
    return ip.status == "available" && ip.target == interface_id && !ip.address.empty();
  };
  const std::function<Task<bool>()> is_gone = [this, &id] {
    return context_.api.is_floating_ip_gone(id);
  };
  const driver::ListingWait wait{context_.runtime, context_.log, "floating IPs"};
  const CloudError absence(Kind::failed, "floating IP " + spec_.hostname + " has disappeared");
  const VpcFloatingIp ip =
      co_await driver::wait_in_listing(wait, context_.view.floating_ips(), awaited_ip_, id,
                                       is_attached, kConsistencyDelay, absence, is_gone);
  const auto taken = awaited_ip_.taken();
  if (taken) context_.view.ip_times().learn(*taken);
  co_return ip.address;
}

driver::Instance describe(const VpcAccount& account, const VpcInstance& instance) {
  driver::Instance described;
  described.external_id = model::json_string(instance.name);
  described.metadata = owner_tags(instance.name, instance.group, instance.boot_disk_name);
  if (!instance.private_ipv4.empty()) described.private_ipv4 = instance.private_ipv4;
  described.interface_ip = described.private_ipv4;
  described.cloud = "IBM";
  described.region = account.region;
  described.az = instance.zone;
  return described;
}

}  // namespace nodepool::drivers::ibmvpc
