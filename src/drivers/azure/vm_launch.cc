#include "drivers/azure/vm_launch.h"

#include <fmt/format.h>

#include "cloud/metadata.h"
#include "driver/cloud_error.h"
#include "driver/statemachine/wait_in_listing.h"
#include "drivers/azure/names.h"
#include "drivers/azure/poll_intervals.h"

namespace nodepool::drivers::azure {

using async::Task;
using driver::CloudError;
using json::Json;
using Kind = CloudError::Kind;

namespace {

NetworkPart read_part(const ResourceType& type, const cloud::Element& part) {
  return type.path == kAddressType.path ? read_address(part) : read_interface(part);
}

bool is_complete(const ResourceType& type, const NetworkPart& part) {
  return part.is_ready() && (type.path != kAddressType.path || !part.public_address.empty());
}

}  // namespace

VmLaunch::VmLaunch(VmContext context, driver::CreateSpec spec, driver::LaunchSteps& steps)
    : context_(std::move(context)),
      spec_(std::move(spec)),
      steps_(steps),
      awaited_(context_.view.machines().await_earlier()) {
  const AzureLabel& label = context_.config.label(spec_.pool, spec_.label);
  const cloud::LabelMetadata wanted{.fixed = label.tags, .dynamic = label.dynamic_tags};
  tags_ = cloud::machine_metadata(wanted, spec_, "dynamic-tags", context_.log);
}

MachineRequest VmLaunch::request() const {
  return {.config = context_.config,
          .pool = context_.config.pool(spec_.pool),
          .label = context_.config.label(spec_.pool, spec_.label),
          .host = spec_.hostname,
          .tags = tags_,
          .console_log = context_.config.machine_label(spec_.pool, spec_.label).console_log};
}

Task<driver::Instance> VmLaunch::run() {
  const AzurePool& pool = context_.config.pool(spec_.pool);
  AddressIds ids;
  NetworkPart ipv4;
  NetworkPart ipv6;
  if (pool.public_ipv4) ipv4 = co_await make_address(false);
  if (pool.public_ipv6) ipv6 = co_await make_address(true);
  ids.ipv4 = ipv4.id;
  ids.ipv6 = ipv6.id;
  steps_.enter("creating network interface");
  Part interface_part{.type = kInterfaceType,
                      .name = interface_name(spec_.hostname),
                      .body = interface_body(request(), ids)};
  co_await make("interface", std::move(interface_part));
  const NetworkPart interface = co_await wait_for(kInterfaceType, interface_name(spec_.hostname));

  steps_.enter("creating virtual machine");
  const std::string interface_id = interface.id;
  const driver::LaunchSteps::Make make_it = [this, &interface_id] {
    return make_machine(interface_id);
  };
  const driver::LaunchSteps::Find find_it = [this] { return find(kMachineType, spec_.hostname); };
  co_await steps_.step("machine", make_it, find_it);
  steps_.enter("waiting for the virtual machine");
  const VirtualMachine machine = co_await wait_for_machine();

  const auto if_any = [](const std::string& text) -> std::optional<std::string> {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  driver::Instance made = describe(machine);
  made.public_ipv4 = if_any(ipv4.public_address);
  made.public_ipv6 = if_any(ipv6.public_address);
  made.private_ipv4 = if_any(interface.private_ipv4);
  made.private_ipv6 = if_any(interface.private_ipv6);
  for (const auto* address :
       {&made.public_ipv4, &made.public_ipv6, &made.private_ipv4, &made.private_ipv6}) {
    if (!made.interface_ip) made.interface_ip = *address;
  }
  made.resources = resources_of(co_await context_.view.size(machine.size), machine.is_spot);
  co_return made;
}

// Makes a resource as a step of the launch.
Task<> VmLaunch::make(std::string step, Part part) {
  const driver::LaunchSteps::Make make_it = [this, &part] { return put(part); };
  const driver::LaunchSteps::Find find_it = [this, &part] { return find(part.type, part.name); };
  co_await steps_.step(std::move(step), make_it, find_it);
}

// The result of a step is the name.
Task<std::string> VmLaunch::put(Part part) {
  steps_.set_external_id(external_id(spec_.hostname));
  co_await context_.view.ensure_group();
  co_await refuse_foreign();
  try {
    ResourceManager::Created created = co_await context_.manager.put(
        part.type, part.name, std::move(part.body), std::move(part.secrets));
    if (part.type.path != kMachineType.path) {
      NetworkPart made = read_part(part.type, created.resource);
      if (is_complete(part.type, made)) made_[part.name] = std::move(made);
    }
    operations_[part.name] = std::move(created.operation);
  } catch (const CloudError& error) {
    if (error.kind() == Kind::quota || error.kind() == Kind::not_found) context_.view.forget();
    if (error.kind() != Kind::not_found) throw;
    throw CloudError(Kind::failed, error.what(), {}, error.code());
  }
  co_return part.name;
}

// Names are those of nodes: two installations in a group may want the same. To create a resource
// that exists would change it. Checked once: the names belong together.
Task<> VmLaunch::refuse_foreign() {
  if (has_checked_) co_return;
  const auto list = co_await context_.view.machines().get(kPollInterval);
  const VirtualMachine* machine = list->find(spec_.hostname);
  has_checked_ = machine == nullptr || driver::carries(machine->tags, spec_.metadata);
  if (has_checked_) co_return;
  throw CloudError(Kind::failed, fmt::format("virtual machine {} exists, and was not made for this "
                                             "node",
                                             spec_.hostname));
}

Task<std::optional<std::string>> VmLaunch::find(ResourceType type, std::string name) {
  const std::optional<cloud::Element> found = co_await context_.manager.get(type, name);
  if (!found || spec_.metadata.empty()) co_return std::nullopt;
  const ArmResource resource = read_resource(*found);
  if (resource.is_going() || !driver::carries(resource.tags, spec_.metadata)) {
    co_return std::nullopt;
  }
  steps_.set_external_id(external_id(spec_.hostname));
  co_return name;
}

Task<NetworkPart> VmLaunch::make_address(bool is_ipv6) {
  steps_.enter("creating public address");
  const std::string& host = spec_.hostname;
  Part part{.type = kAddressType,
            .name = is_ipv6 ? ipv6_address_name(host) : ipv4_address_name(host),
            .body = address_body(request(), is_ipv6)};
  const std::string name = part.name;
  co_await make(is_ipv6 ? "address-v6" : "address-v4", std::move(part));
  co_return co_await wait_for(kAddressType, name);
}

// Waits until a resource is there, with its address. A failed look is repeated.
Task<NetworkPart> VmLaunch::wait_for(ResourceType type, std::string name) {
  const auto made = made_.find(name);
  if (made != made_.end()) co_return made->second;
  async::Clock& clock = context_.runtime.clock;
  auto last_seen = clock.now();
  while (true) {
    std::optional<cloud::Element> found;
    try {
      found = co_await context_.manager.get(type, name);
      if (found) last_seen = clock.now();
    } catch (const CloudError& error) {
      if (error.kind() == Kind::permanent) throw;
      context_.log.warning("Error polling {} {}: {}", type.what, name, error.what());
      last_seen = clock.now();
    }
    if (found) {
      NetworkPart part = read_part(type, *found);
      if (is_complete(type, part)) co_return part;
      if (part.has_failed() || part.is_going()) {
        co_await fail(name, state_in_words(type.what, part));
      }
    }
    if (clock.now() - last_seen > kConsistencyDelay) {
      throw CloudError(Kind::failed, fmt::format("{} {} has disappeared", type.what, name));
    }
    co_await clock.sleep_for(kPollInterval);
  }
}

// The password is drawn here, so that it is in no step.
Task<std::string> VmLaunch::make_machine(std::string interface_id) {
  const MachineRequest wanted = request();
  const Json image_reference = co_await image();
  const std::string password = password_for(*wanted.label.image);
  Part part{.type = kMachineType,
            .name = spec_.hostname,
            .body = machine_body(wanted, image_reference, password, interface_id)};
  if (!password.empty()) part.secrets.push_back(password);
  const CloudView::Machines::PendingCreate pending_create(context_.view.machines());
  std::string name = co_await put(std::move(part));
  awaited_ = pending_create.await(spec_.expectation());
  co_return name;
}

Task<Json> VmLaunch::image() {
  const std::optional<AzureImage>& wanted = context_.config.label(spec_.pool, spec_.label).image;
  if (!wanted) throw CloudError(Kind::failed, "the label has no image");
  if (!spec_.image_external_id.empty()) {
    co_return Json{{"id", context_.manager.id_of(kImageType, spec_.image_external_id)}};
  }
  if (!wanted->filter) co_return Json(wanted->reference);
  const std::optional<std::string> id = co_await context_.view.image_id(*wanted->filter);
  if (!id) {
    throw CloudError(Kind::failed, "no image matches the filter of `" + spec_.image_name + "`");
  }
  co_return Json{{"id", *id}};
}

Task<VirtualMachine> VmLaunch::wait_for_machine() {
  const auto is_settled = [](const VirtualMachine& machine) {
    return machine.is_ready() || machine.has_failed() || machine.is_going();
  };
  const CloudError absence(Kind::failed, "virtual machine " + spec_.hostname + " has disappeared");
  const driver::ListingWait wait{context_.runtime, context_.log, "virtual machines"};
  VirtualMachine machine =
      co_await driver::wait_in_listing(wait, context_.view.machines(), awaited_, spec_.hostname,
                                       is_settled, kConsistencyDelay, absence);
  if (!machine.is_ready()) {
    co_await fail(machine.name, state_in_words(kMachineType.what, machine));
  }
  spec_.learn(awaited_.taken(context_.runtime.clock.now()));
  co_return machine;
}

// Throws why a resource has failed. Only its operation has the reason.
Task<> VmLaunch::fail(std::string name, std::string problem) {
  const auto operation = operations_.find(name);
  if (operation != operations_.end()) {
    LongOperation failed = operation->second;
    failed.pause = {};
    co_await context_.manager.finish(std::move(failed));
  }
  throw CloudError(Kind::failed, problem);
}

driver::Instance describe(const VirtualMachine& machine) {
  driver::Instance described;
  described.external_id = external_id(machine.name);
  described.metadata = machine.tags;
  described.cloud = "Azure";
  described.region = machine.location;
  described.az = machine.zone;
  return described;
}

driver::Resources resources_of(const std::optional<VmSize>& size, bool is_spot) {
  if (!size) return driver::Resources({{"instances", 1}});
  return driver::Resources({{"instances", 1},
                            {"cores", size->cores},
                            {"ram", size->memory},
                            {is_spot ? kSpotCores : size->family, size->cores}});
}

}  // namespace nodepool::drivers::azure
