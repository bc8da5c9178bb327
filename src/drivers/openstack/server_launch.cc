#include "drivers/openstack/server_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "cloud/metadata.h"
#include "cloud/patience.h"
#include "driver/cloud_error.h"
#include "driver/launch_metrics.h"
#include "driver/ownership.h"
#include "driver/statemachine/shared_poller.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/openstack/api/classify.h"
#include "drivers/openstack/external_id.h"
#include "drivers/openstack/flavors.h"

namespace nodepool::drivers::openstack {

using async::Task;
using driver::CloudError;
using driver::Instance;

namespace {

using TopologyPointer = std::shared_ptr<const Topology>;

// The error of a server in ERROR.
CloudError failure_of(const Server& server) {
  const auto contains = [&server](std::string_view word) {
    return server.fault.find(word) != std::string::npos;
  };
  const bool quota = contains("quota") || speaks_of_quota(server.fault);
  return {quota ? CloudError::Kind::quota : CloudError::Kind::failed,
          fmt::format("server {} is in ERROR: {}", server.id,
                      server.fault.empty() ? "no reason given" : server.fault)};
}

}  // namespace

ServerLaunch::ServerLaunch(ServerContext context, driver::CreateSpec spec,
                           driver::LaunchSteps& steps)
    : context_(std::move(context)),
      spec_(std::move(spec)),
      steps_(steps),
      requested_at_(context_.runtime.clock.now()),
      awaited_(context_.view.servers().await_earlier()) {}

const OpenStackLabel& ServerLaunch::label() const {
  return context_.config.label(spec_.pool, spec_.label);
}

Task<Instance> ServerLaunch::run() {
  steps_.enter("creating server");
  const driver::LaunchSteps::Make make = [this] { return make_server(); };
  const driver::LaunchSteps::Find find = [this] { return find_server(); };
  const std::string id = co_await steps_.step(kServerStep, make, find);

  steps_.enter("waiting for the server");
  Server server = co_await wait_until_active(id);
  const std::function<Task<TopologyPointer>()> ask = [this] { return context_.view.topology(); };
  const TopologyPointer topology =
      co_await cloud::retry_while_unreachable(context_.runtime, context_.log, ask);
  if (context_.config.pool(spec_.pool).auto_floating_ip) {
    const std::optional<FloatingIp> floating_ip = co_await attach_floating_ip(server, *topology);
    if (floating_ip) add_floating_ip(server.addresses, *floating_ip);
  }
  Instance made = describe(context_, server, *topology);
  Task<driver::Resources> asking = taken_by(std::move(server));
  made.resources =
      co_await driver::if_answered(std::move(asking), "flavors and volumes", context_.log);
  co_return made;
}

Task<std::string> ServerLaunch::make_server() {
  ServerRequest wanted = co_await request();
  requested_at_ = context_.runtime.clock.now();
  const CloudView::Servers::PendingCreate pending_create(context_.view.servers());
  std::string id;
  try {
    id = co_await context_.api.compute().create(std::move(wanted));
  } catch (const CloudError& error) {
    const bool refused =
        error.kind() == CloudError::Kind::failed || error.kind() == CloudError::Kind::not_found;
    if (!refused) throw;
    context_.view.forget();  // the flavor, image or network may have been replaced
    throw CloudError(CloudError::Kind::failed, error.what());
  }
  awaited_ = pending_create.await(spec_.expected);
  steps_.set_external_id(to_external_id(id));
  co_return id;
}

Task<ServerRequest> ServerLaunch::request() {
  const OpenStackLabel& wanted = label();
  ServerRequest request;
  request.name = spec_.hostname;
  request.image_id = co_await image_id();
  const Flavor flavor = co_await context_.view.flavor(wanted);
  request.flavor_id = flavor.id;
  if (wanted.boot_from_volume) request.volume_size = wanted.volume_size;
  request.key_name = wanted.key_name;
  request.az = spec_.az;
  request.security_groups = context_.config.pool(spec_.pool).security_groups;
  request.network_ids = co_await context_.view.network_ids(wanted.networks);
  if (wanted.networks.empty()) {
    const auto topology = co_await context_.view.topology();
    if (topology->default_network) request.network_ids = {topology->default_network->id};
  }
  request.userdata = wanted.userdata;
  request.config_drive = wanted.config_drive;
  request.metadata = metadata();
  request.microversion = context_.config.account().compute_microversion;
  co_return request;
}

Task<std::string> ServerLaunch::image_id() {
  if (!spec_.image_external_id.empty()) co_return spec_.image_external_id;
  const std::optional<CloudImageReference> image = label().cloud_image;
  std::optional<std::string> id;
  if (image) id = co_await context_.view.image_id(*image);
  if (!id) {
    throw CloudError(CloudError::Kind::failed,
                     "the cloud has no active image `" + spec_.image_name + "`");
  }
  co_return *id;
}

driver::Metadata ServerLaunch::metadata() const {
  cloud::LabelMetadata wanted{.fixed = label().instance_properties,
                              .dynamic = label().dynamic_instance_properties};
  wanted.fixed.try_emplace(
      "groups", fmt::format("{},{},{}", context_.config.name(), spec_.image_name, spec_.label));
  return cloud::machine_metadata(wanted, spec_, "dynamic-instance-properties", context_.log);
}

// Uses a list from after the request: an older one may show the server of an earlier attempt.
Task<std::optional<std::string>> ServerLaunch::find_server() {
  const async::Duration since_request = context_.runtime.clock.now() - requested_at_;
  const auto list =
      co_await context_.view.servers().get(std::min(context_.poll_policy.poll, since_request));
  const auto ours = [this](const Server& server) {
    return !server.is_going() && driver::carries(server.metadata, spec_.metadata);
  };
  const auto found = std::ranges::find_if(list->all(), ours);
  if (found == list->all().end() || spec_.metadata.empty()) co_return std::nullopt;
  steps_.set_external_id(to_external_id(found->id));
  co_return found->id;
}

Task<Server> ServerLaunch::wait_until_active(std::string id) {
  const CloudError absence(CloudError::Kind::failed, "server " + id + " has disappeared");
  const auto is_active = [&absence](const Server& server) {
    if (server.status == "ERROR") throw failure_of(server);
    if (server.is_deleted()) throw CloudError(absence);
    if (server.is_going()) {
      throw CloudError(CloudError::Kind::failed, "server " + server.id + " is being deleted");
    }
    return server.status == "ACTIVE";
  };
  // Nova omits the servers of a cell that does not respond.
  const std::function<Task<bool>()> is_gone = [this, id] {
    return context_.api.compute().is_gone(id);
  };
  const driver::ListingWait wait{context_.runtime, context_.log, "servers"};
  Server server =
      co_await driver::wait_in_listing(wait, context_.view.servers(), awaited_, id, is_active,
                                       context_.poll_policy.consistency_delay, absence, is_gone);
  steps_.booted(awaited_.taken());
  co_return server;
}

// Returns nothing if the server needs none.
Task<std::optional<FloatingIp>> ServerLaunch::attach_floating_ip(Server server,
                                                                 const Topology& topology) {
  const Cloud& cloud = context_.config.account();
  const AddressChoice choice = choose_addresses(server, topology, cloud, context_.host_has_ipv6);
  if (topology.refusal && choice.interface_ip.empty()) throw CloudError(*topology.refusal);
  if (!needs_floating_ip(server, choice, topology, cloud)) co_return std::nullopt;
  const std::function<Task<std::vector<Port>>()> ask = [this, &server] {
    return context_.api.network().ports_of(server.id);
  };
  const std::vector<Port> ports =
      co_await cloud::retry_while_unreachable(context_.runtime, context_.log, ask);
  const std::optional<PortChoice> port = choose_port(ports, topology);
  if (!port) co_return std::nullopt;

  steps_.enter("creating floating IP");
  const std::string network = topology.floating_source->id;
  const driver::LaunchSteps::Make make = [this, network, port] {
    return make_floating_ip(network, *port);
  };
  const driver::LaunchSteps::Find find = [this, port] { return find_floating_ip(port->port_id); };
  const std::string id = co_await steps_.step(kFloatingIpStep, make, find);
  steps_.enter("attaching floating IP");
  co_return co_await wait_for_floating_ip(id);
}

Task<std::string> ServerLaunch::make_floating_ip(std::string network_id, PortChoice port) {
  const FloatingIp made = co_await context_.api.network().create_floating_ip(
      std::move(network_id), port.port_id, port.fixed_address);
  co_return made.id;
}

Task<std::optional<std::string>> ServerLaunch::find_floating_ip(std::string port_id) {
  const auto found = co_await context_.api.network().floating_ips_of(std::move(port_id));
  if (found.empty()) co_return std::nullopt;
  co_return found.front().id;
}

Task<FloatingIp> ServerLaunch::wait_for_floating_ip(std::string id) {
  async::Clock& clock = context_.runtime.clock;
  const auto until = clock.now() + context_.poll_policy.floating_ip_limit;
  std::string status = "not listed";
  while (true) {
    const auto list =
        co_await driver::if_answered(context_.view.floating_ips(), "floating IPs", context_.log);
    const std::span<const FloatingIp> listed = list ? list->all : std::span<const FloatingIp>();
    const auto found = std::ranges::find(listed, id, &FloatingIp::id);
    if (found != listed.end()) {
      if (found->status == "ACTIVE" && !found->port_id.empty()) co_return *found;
      status = found->status;
    }
    if (status == "ERROR" || clock.now() >= until) break;
    co_await clock.sleep_for(context_.poll_policy.poll);
  }
  throw CloudError(
      CloudError::Kind::failed,
      fmt::format("floating IP {} has not become ACTIVE: its status is {}", id, status),
      driver::kLaunchAddressTimedOut);
}

Task<driver::Resources> ServerLaunch::taken_by(Server server) {
  const auto flavors = co_await context_.view.flavors();
  const auto volumes = co_await context_.view.volumes_for({&server, 1});
  co_return instance_resources(server, *flavors, *volumes);
}

Instance describe(const ServerContext& context, const Server& server, const Topology& topology) {
  const Cloud& cloud = context.config.account();
  const AddressChoice choice = choose_addresses(server, topology, cloud, context.host_has_ipv6);

  Instance instance;
  instance.external_id = to_external_id(server.id);
  instance.metadata = server.metadata;
  instance.interface_ip = choice.interface_ip;
  instance.public_ipv4 = choice.public_ipv4;
  instance.public_ipv6 = choice.public_ipv6;
  instance.private_ipv4 = choice.private_ipv4.empty() ? choice.public_ipv4 : choice.private_ipv4;
  instance.cloud = cloud.name;
  instance.region = context.config.region_name();
  instance.az = server.az;
  instance.host_id = server.host_id;
  return instance;
}

}  // namespace nodepool::drivers::openstack
