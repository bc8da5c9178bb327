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

// The code with which Azure refuses to change a machine to another one.
constexpr std::string_view kOtherMachine = "PropertyChangeNotAllowed";
// How long a running machine may lack an address.
constexpr async::Duration kAddressPatience = std::chrono::minutes(5);

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
          .parts = part_names(spec_.hostname,
                              owner_mark(context_.ownership.installation(), context_.config.name()),
                              spec_.attempt),
          .tags = tags_,
          .console_log = context_.config.machine_label(spec_.pool, spec_.label).console_log};
}

Task<driver::Instance> VmLaunch::run() {
  steps_.enter("creating virtual machine");
  const driver::LaunchSteps::Make make_it = [this] { return make(); };
  const driver::LaunchSteps::Find find_it = [this] { return find(); };
  co_await steps_.step("machine", make_it, find_it);
  steps_.enter("waiting for the virtual machine");
  const VirtualMachine machine = co_await wait_for_machine();
  driver::Instance made = describe(machine);
  Task<driver::Resources> asking = context_.view.taken_by(machine.size, machine.is_spot);
  made.resources = co_await driver::if_answered(std::move(asking), "sizes", context_.log);
  steps_.enter("waiting for its addresses");
  co_await wait_for_addresses(machine, made);
  for (const auto* address :
       {&made.public_ipv4, &made.public_ipv6, &made.private_ipv4, &made.private_ipv6}) {
    if (!made.interface_ip) made.interface_ip = *address;
  }
  co_return made;
}

// The result of the step is the name. The password is drawn here, so that it is in no step.
Task<std::string> VmLaunch::make() {
  steps_.set_external_id(external_id(spec_.hostname));
  const MachineRequest wanted = request();
  const Json image_reference = co_await image();
  const std::string password = password_for(*wanted.label.image);
  Json body = machine_body(wanted, image_reference, password);
  std::vector<std::string> secrets;
  if (!password.empty()) secrets.push_back(password);
  co_await context_.view.ensure_group();
  const CloudView::Machines::PendingCreate pending_create(context_.view.machines());
  try {
    ResourceManager::Created created = co_await context_.manager.put(
        kMachineType, spec_.hostname, std::move(body), std::move(secrets));
    operation_ = std::move(created.operation);
  } catch (const CloudError& error) {
    if (error.kind() == Kind::quota || error.kind() == Kind::not_found) context_.view.forget();
    // Names are those of nodes: two installations in a group may want the same. Azure does not
    // change a machine to one with another disk, so that the other's stays as it is. If an earlier
    // attempt may have made this machine, its tags decide.
    if (error.code() == kOtherMachine && error.kind() != Kind::unknown_outcome) {
      throw CloudError(Kind::failed, fmt::format("virtual machine {} exists, and was not made for "
                                                 "this attempt: {}",
                                                 spec_.hostname, error.what()));
    }
    if (error.kind() != Kind::not_found) throw;
    throw CloudError(Kind::failed, error.what(), {}, error.code());
  }
  awaited_ = pending_create.await(spec_.expected);
  co_return spec_.hostname;
}

Task<std::optional<std::string>> VmLaunch::find() {
  const std::optional<cloud::Element> found =
      co_await context_.manager.get(kMachineType, spec_.hostname);
  if (!found || spec_.metadata.empty()) co_return std::nullopt;
  const ArmResource machine = read_resource(*found);
  if (machine.is_going() || !driver::carries(machine.tags, spec_.metadata)) co_return std::nullopt;
  steps_.set_external_id(external_id(spec_.hostname));
  co_return spec_.hostname;
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
  const std::function<Task<bool>()> is_gone = [this] {
    return context_.manager.is_gone(kMachineType, spec_.hostname);
  };
  const driver::ListingWait wait{context_.runtime, context_.log, "virtual machines"};
  VirtualMachine machine =
      co_await driver::wait_in_listing(wait, context_.view.machines(), awaited_, spec_.hostname,
                                       is_settled, kConsistencyDelay, absence, is_gone);
  if (!machine.is_ready()) co_await fail(state_in_words(kMachineType.what, machine));
  steps_.booted(awaited_.taken());
  co_return machine;
}

// Throws why the machine has failed. Only its operation has the reason.
Task<> VmLaunch::fail(std::string problem) {
  if (operation_) {
    LongOperation failed = *operation_;
    failed.pause = {};
    try {
      co_await context_.manager.finish(std::move(failed));
    } catch (const CloudError& error) {
      if (error.kind() == Kind::quota) context_.view.forget();
      throw;
    }
  }
  throw CloudError(Kind::failed, problem);
}

// Adds the machine's addresses. Returns whether they are all known.
Task<bool> VmLaunch::add_addresses(const VirtualMachine& machine, driver::Instance& made) {
  const auto if_any = [](const std::string& text) -> std::optional<std::string> {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  const auto interfaces = co_await context_.view.interfaces(kPollInterval);
  std::vector<std::string> public_addresses;
  for (const std::string& name : machine.interfaces) {
    const NetworkInterface* interface = interfaces->find(name);
    if (interface == nullptr || !interface->is_complete) co_return false;
    made.private_ipv4 = if_any(interface->private_ipv4);
    made.private_ipv6 = if_any(interface->private_ipv6);
    public_addresses = interface->public_addresses;
  }
  if (public_addresses.empty()) co_return !machine.interfaces.empty();
  const auto addresses = co_await context_.view.addresses(kPollInterval);
  for (const std::string& name : public_addresses) {
    const PublicAddress* address = addresses->find(name);
    if (address == nullptr || address->address.empty()) co_return false;
    (address->is_ipv6 ? made.public_ipv6 : made.public_ipv4) = address->address;
  }
  co_return true;
}

// A failed look is repeated. An address may be assigned later than the machine is there.
Task<> VmLaunch::wait_for_addresses(VirtualMachine machine, driver::Instance& made) {
  async::Clock& clock = context_.runtime.clock;
  const auto begun = clock.now();
  while (true) {
    Task<bool> looking = add_addresses(machine, made);
    if (co_await driver::if_answered(std::move(looking), "addresses", context_.log)) co_return;
    if (clock.now() - begun > kAddressPatience) {
      throw CloudError(Kind::failed,
                       "virtual machine " + spec_.hostname + " did not get its addresses");
    }
    co_await clock.sleep_for(kPollInterval);
  }
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

}  // namespace nodepool::drivers::azure
