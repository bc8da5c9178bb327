#include "drivers/openstack/openstack_adapter.h"

#include <algorithm>
#include <set>

#include "driver/cloud_error.h"
#include "drivers/openstack/external_id.h"
#include "drivers/openstack/flavors.h"
#include "drivers/openstack/server_launch.h"
#include "drivers/openstack/server_removal.h"

namespace nodepool::drivers::openstack {

using async::Task;
using driver::CloudError;

namespace {

// Other states, such as VERIFY_RESIZE and UNKNOWN, are not known to be an end.
driver::Machine::State state_of(const Server& server) {
  using State = driver::Machine::State;
  if (server.is_deleted()) return State::deleted;
  if (server.is_going()) return State::deleting;
  if (server.status == "BUILD") return State::building;
  if (server.status == "ERROR") return State::failed;
  return server.status == "SHUTOFF" ? State::stopped : State::running;
}

}  // namespace

OpenStackAdapter::OpenStackAdapter(const cloud::AdapterContext& context,
                                   std::shared_ptr<const OpenStackConfig> config,
                                   std::shared_ptr<CloudEndpoint> endpoint)
    : config_(std::move(config)),
      endpoint_(std::move(endpoint)),
      membership_(endpoint_->join({.rate = config_->rate(), .on_attempt = context.on_attempt})),
      api_(context.runtime, endpoint_->account(), context.log, context.on_attempt),
      view_(endpoint_->view()),
      context_{context.runtime,          *config_,        api_,       view_,
               endpoint_->poll_policy(), host_has_ipv6(), context.log},
      images_(context_, context.threads),
      leftovers_(context_) {}

Task<> OpenStackAdapter::stop() {
  co_await endpoint_->leave(membership_);
}

Task<driver::Instance> OpenStackAdapter::create(driver::CreateSpec spec,
                                                driver::LaunchSteps& steps) {
  ServerLaunch launch(context_, std::move(spec), steps);
  co_return co_await launch.run();
}

Task<> OpenStackAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  std::optional<std::string> public_ipv4 = launched_public_ipv4(steps.node());
  std::function<void()> accepted = [&steps] { steps.removal_accepted(); };
  co_await remove_server(context_, server_id_of(external_id), std::move(public_ipv4),
                         std::move(accepted));
}

// Nova leaves out the servers of a cell that does not respond.
Task<driver::MachineList> OpenStackAdapter::list() {
  driver::MachineList machines{.machines = {}, .is_complete = false};
  const auto list = co_await view_.servers().get(endpoint_->poll_policy().poll);
  const auto topology = co_await view_.known_topology();
  const auto flavors = co_await view_.flavors();
  const auto volumes = co_await view_.known_volumes_for(list->all());
  for (const Server& server : list->all()) {
    driver::Machine& machine =
        machines.machines.emplace_back(openstack::describe(context_, server, *topology));
    machine.resources = instance_resources(server, *flavors, *volumes);
    machine.state = state_of(server);
    using State = driver::Machine::State;
    if (machine.state == State::running) continue;
    machine.explanation = machine.state == State::deleting
                              ? "server " + server.id + " is being deleted"
                              : "server " + server.id + " is in state " + server.status;
  }
  co_return machines;
}

Task<> OpenStackAdapter::remove_resource(driver::Resource resource) {
  if (resource.type == kPortResource) {
    co_await api_.network().remove_port(std::move(resource.id));
  } else if (resource.type == kFloatingIpResource) {
    co_await api_.network().remove_floating_ip(std::move(resource.id));
  } else if (resource.type == driver::kInstanceResource) {
    co_await remove_server(context_, std::move(resource.id), std::nullopt, {});
  } else {
    co_await driver::Adapter::remove_resource(std::move(resource));
  }
}

Task<std::vector<driver::Resource>> OpenStackAdapter::other_resources() {
  return leftovers_.find();
}

Task<driver::Limits> OpenStackAdapter::limits() {
  driver::Limits limits = co_await api_.compute().limits();
  const auto of_volumes = co_await view_.volume_limits();
  limits.insert(of_volumes->begin(), of_volumes->end());
  co_return limits;
}

Task<driver::CloudDescription> OpenStackAdapter::describe(
    driver::CloudDescription::Purpose purpose) {
  driver::CloudDescription described;
  const driver::DescribeLabel describe = [this](std::string pool, std::string label) {
    return describe_label(std::move(pool), std::move(label));
  };
  described.labels = co_await driver::describe_labels(*config_, describe);
  described.zones = *co_await view_.zones();
  if (config_->uses_cloud_quota()) described.limits = co_await limits();
  if (purpose == driver::CloudDescription::Purpose::check) {
    described.missing = co_await missing(described.zones);
  }
  co_return described;
}

Task<driver::LabelDescription> OpenStackAdapter::describe_label(std::string pool,
                                                                std::string label) {
  const OpenStackLabel& wanted = config_->label(pool, label);
  driver::LabelDescription described;
  described.need = instance_resources(co_await view_.flavor(wanted));
  if (wanted.boot_from_volume) {
    described.need +=
        driver::Resources({{"volumes", 1}, {"volume-gb", static_cast<double>(wanted.volume_size)}});
  }
  if (!config_->machine_label(pool, label).diskimage.empty()) co_return described;
  if (!wanted.cloud_image) {
    described.problem = driver::images_unavailable("the label has no image");
    co_return described;
  }
  const std::optional<std::string> id = co_await view_.image_id(*wanted.cloud_image);
  if (!id) {
    described.problem = driver::images_unavailable("the cloud has no active image `" +
                                                   wanted.cloud_image->name + "`");
  }
  co_return described;
}

Task<std::vector<std::string>> OpenStackAdapter::missing(std::vector<std::string> zones) {
  std::set<std::string> lacks;
  const auto topology = co_await view_.topology();
  for (const auto& [pool_name, pool] : config_->pools()) {
    for (const std::string& zone : config_->machine_pool(pool_name).zones) {
      const bool is_there = zones.empty() || std::ranges::find(zones, zone) != zones.end();
      if (!is_there) lacks.insert("no availability zone `" + zone + "` is available");
    }
    for (const std::string& label : pool.labels) {
      for (const std::string& network : config_->label(pool_name, label).networks) {
        if (topology->find(network) == nullptr)
          lacks.insert("there is no network `" + network + "`");
      }
    }
  }
  co_return std::vector<std::string>(lacks.begin(), lacks.end());
}

Task<std::optional<std::string>> OpenStackAdapter::diagnose(model::Json external_id,
                                                            bool wants_console) {
  if (!wants_console) co_return std::nullopt;
  co_return co_await api_.compute().console_log(server_id_of(external_id));
}

}  // namespace nodepool::drivers::openstack
