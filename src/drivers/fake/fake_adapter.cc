#include "drivers/fake/fake_adapter.h"

#include <algorithm>
#include <ranges>

#include "driver/ownership.h"
#include "model/node.h"

namespace nodepool::drivers::fake {

using driver::CloudError;
using driver::CreateSpec;
using driver::Instance;
using driver::Metadata;
using driver::Resource;
using driver::Resources;

namespace {

// Between two polls of the list, and the minimum if the expected time is known.
constexpr driver::PollIntervals kPace{.unknown = std::chrono::milliseconds(100),
                                      .least = std::chrono::milliseconds(10)};

constexpr const char* kHostId = "fake";

// Chooses like the driver openstack.
const FakeFlavor& choose_flavor(const FakeLabel& label) {
  const std::string& wanted = label.flavor_name;
  const auto fits = [&](const FakeFlavor& flavor) {
    if (label.min_ram == 0) return flavor.name == wanted;
    return flavor.ram >= static_cast<double>(label.min_ram) && flavor.name.contains(wanted);
  };
  const auto& flavors = FakeCloud::flavors();
  const auto found = std::ranges::find_if(flavors, fits);
  if (found == flavors.end()) {
    std::string text = "the cloud has no flavor";
    if (!wanted.empty()) text += " " + wanted;
    if (label.min_ram > 0) text += " with at least " + std::to_string(label.min_ram) + " MiB";
    throw CloudError(CloudError::Kind::permanent, text);
  }
  return *found;
}

driver::Machine::State state_of(const FakeServer& server) {
  using State = driver::Machine::State;
  if (server.status == FakeServer::Status::error) return State::failed;
  return server.status == FakeServer::Status::active ? State::running : State::building;
}

}  // namespace

FakeAdapter::FakeAdapter(const async::Runtime& runtime, telemetry::Logger log,
                         std::shared_ptr<const FakeConfig> config, std::shared_ptr<FakeCloud> cloud)
    : runtime_(runtime),
      log_(std::move(log)),
      config_(std::move(config)),
      cloud_(std::move(cloud)),
      client_(runtime, cloud_),
      images_(client_),
      listing_(runtime, "fake servers", kPace, [this] { return client_.servers(); }) {}

Task<> FakeAdapter::start(std::function<void()> /*changed*/) {
  cloud_->behaviour = config_->behaviour();
  co_return;
}

Task<> FakeAdapter::stop() {
  co_await listing_.stop();
}

// --- making and deleting

ServerSpec FakeAdapter::server_spec(const CreateSpec& spec) const {
  const FakeLabel& label = config_->label(spec.pool, spec.label);
  ServerSpec server;
  server.name = spec.hostname;
  server.flavor = choose_flavor(label).name;
  server.zone = spec.az.value_or("");
  server.networks = label.networks;
  if (label.boot_from_volume) server.volume_gb = label.volume_size;
  for (const auto& [key, value] : label.instance_properties) server.metadata.emplace(key, value);
  for (const auto& [key, value] : spec.metadata) server.metadata.insert_or_assign(key, value);
  if (!label.image_name) {
    // Not checked: it may have been uploaded to the builder's cloud, which is another process.
    server.image = spec.image_external_id;
    return server;
  }
  server.image = label.image_id.value_or("");
  if (!server.image.empty()) return server;
  const std::string& wanted = *label.image_name;
  const auto image = cloud_->image(wanted);
  if (!image) throw CloudError(CloudError::Kind::failed, "no image " + wanted);
  server.image = image->id;
  return server;
}

Task<Instance> FakeAdapter::create(CreateSpec spec, driver::LaunchSteps& steps) {
  driver::PollWaiter awaited = listing_.await_earlier();
  const driver::LaunchSteps::Make make = [&] { return make_server(spec, steps, awaited); };
  const driver::LaunchSteps::Find find = [&] { return find_server(spec, steps); };
  const std::string id = co_await steps.step("server", make, find);
  steps.enter("waiting for the server");
  const FakeServer server = co_await wait_until_active(id, awaited);
  steps.booted(awaited.taken());
  co_return instance_of(server);
}

Task<std::string> FakeAdapter::make_server(const CreateSpec& spec, driver::LaunchSteps& steps,
                                           driver::PollWaiter& awaited) {
  std::string id = co_await client_.create(server_spec(spec));
  awaited = listing_.await(spec.expected);
  awaited.only_younger = true;
  steps.set_external_id(model::json_string(id));
  co_return id;
}

Task<std::optional<std::string>> FakeAdapter::find_server(const CreateSpec& spec,
                                                          driver::LaunchSteps& steps) {
  const std::vector<FakeServer> servers = co_await client_.servers();
  const auto found = std::ranges::find_if(servers, [&](const FakeServer& server) {
    return driver::carries(server.spec.metadata, spec.metadata);
  });
  if (found == servers.end()) co_return std::nullopt;
  steps.set_external_id(model::json_string(found->id));
  co_return found->id;
}

Task<FakeServer> FakeAdapter::wait_until_active(std::string id, driver::PollWaiter& awaited) {
  while (true) {
    const std::optional<FakeServer> server = co_await poll(id, awaited);
    if (!server) throw CloudError(CloudError::Kind::failed, "server " + id + " has disappeared");
    if (server->status == FakeServer::Status::active) co_return *server;
    if (server->status == FakeServer::Status::error) {
      throw CloudError(CloudError::Kind::failed, "server " + id + " is in state ERROR");
    }
  }
}

Task<std::optional<FakeServer>> FakeAdapter::poll(const std::string& id,
                                                  driver::PollWaiter& awaited) {
  while (true) {
    const auto servers = co_await driver::if_answered(listing_.next(awaited), "servers", log_);
    if (!servers) continue;
    const auto found = std::ranges::lower_bound(*servers, id, {}, &FakeServer::id);
    if (found == servers->end() || found->id != id) co_return std::nullopt;
    co_return *found;
  }
}

Task<> FakeAdapter::remove(model::Json external_id, driver::LaunchSteps& steps) {
  const std::string id = external_id.string_value();
  try {
    co_await client_.remove(id);
  } catch (const CloudError& error) {
    if (error.kind() == CloudError::Kind::not_found) co_return;
    throw;
  }
  steps.removal_accepted();
  driver::PollWaiter awaited = listing_.await_removal();
  while (co_await poll(id, awaited)) {
  }
}

// --- listings and limits

Instance FakeAdapter::instance_of(const FakeServer& server) const {
  Instance instance;
  instance.external_id = model::json_string(server.id);
  instance.metadata = server.spec.metadata;
  instance.resources = server.resources;
  instance.public_ipv4 = server.public_ipv4;
  instance.private_ipv4 = server.private_ipv4;
  instance.public_ipv6 = server.public_ipv6;
  for (const std::string* address :
       {&server.public_ipv6, &server.public_ipv4, &server.private_ipv4}) {
    if (address->empty()) continue;
    instance.interface_ip = *address;
    break;
  }
  instance.cloud = config_->cloud_entry();
  instance.region = config_->region_name();
  instance.az = server.spec.zone;
  instance.host_id = kHostId;
  return instance;
}

// The cloud forgets its servers when the process ends.
Task<driver::MachineList> FakeAdapter::list() {
  const std::vector<FakeServer> servers = co_await client_.servers();
  driver::MachineList list{.machines = {}, .is_complete = false};
  list.machines.reserve(servers.size());
  for (const FakeServer& server : servers) {
    driver::Machine& machine = list.machines.emplace_back(instance_of(server));
    machine.state = state_of(server);
  }
  co_return list;
}

Task<> FakeAdapter::remove_resource(Resource resource) {
  if (resource.type != driver::kInstanceResource)
    co_await driver::Adapter::remove_resource(resource);
  co_await client_.remove(std::move(resource.id));
}

Task<driver::CloudDescription> FakeAdapter::describe(
    driver::CloudDescription::Purpose /*purpose*/) {
  driver::CloudDescription described;
  described.limits = co_await client_.limits();
  described.zones = FakeCloud::zones();
  const driver::DescribeLabel describe = [this](std::string pool, std::string label) {
    return describe_label(std::move(pool), std::move(label));
  };
  described.labels = co_await driver::describe_labels(*config_, describe);
  co_return described;
}

Task<driver::LabelDescription> FakeAdapter::describe_label(std::string pool, std::string label) {
  const FakeLabel& wanted = config_->label(pool, label);
  const FakeFlavor& flavor = choose_flavor(wanted);
  driver::LabelDescription described;
  described.need = Resources({{"instances", 1}, {"cores", flavor.cores}, {"ram", flavor.ram}});
  if (wanted.boot_from_volume) {
    described.need +=
        Resources({{"volumes", 1}, {"volume-gb", static_cast<double>(wanted.volume_size)}});
  }
  if (!wanted.image_name || wanted.image_id) co_return described;
  const std::vector<driver::CloudImage> images = co_await client_.images();
  const bool is_there = std::ranges::any_of(images, [&](const driver::CloudImage& other) {
    return other.id == *wanted.image_name || other.name == *wanted.image_name;
  });
  if (!is_there) {
    described.problem = driver::images_unavailable("the cloud has no image " + *wanted.image_name);
  }
  co_return described;
}

}  // namespace nodepool::drivers::fake
