#include "tests/driver/statemachine/scripted_cloud.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>

#include "async/call_tracer.h"
#include "model/node.h"

namespace nodepool::driver {

void ScriptedCloud::fail(std::string_view call, Fault fault, std::size_t times) {
  auto& list = faults[std::string(call)];
  list.insert(list.end(), times, fault);
}

std::size_t ScriptedCloud::count(std::string_view call) const {
  return static_cast<std::size_t>(std::ranges::count(calls, call));
}

std::vector<std::string> ScriptedCloud::server_ids() const {
  std::vector<std::string> ids;
  for (const Thing& server : servers) ids.push_back(server.id);
  return ids;
}

namespace {

config::ProviderSection section() {
  config::ProviderSection section;
  section.name = "cloud";
  section.driver = "scripted";
  return section;
}

}  // namespace

ScriptedConfig::ScriptedConfig() : StateMachineConfig(section()) {
  PoolConfig pool;
  pool.name = "main";
  pool.labels = {"small", "built"};
  pools_.emplace(pool.name, pool);
  MachineLabel small;
  small.cloud_image = "jammy";
  MachineLabel built;
  built.diskimage = "trixie";
  MachinePool& machines = machine_pools_["main"];
  machines.labels.emplace("small", small);
  machines.labels.emplace("built", built);
}

Task<> ScriptedAdapter::call(std::string name, std::function<void()> act) {
  cloud_->calls.push_back(name);
  co_await runtime_.clock.sleep_for(name == cloud_->hangs ? std::chrono::hours(24 * 365)
                                                          : cloud_->latency / 2);
  std::optional<Fault> fault;
  if (auto& faults = cloud_->faults[name]; !faults.empty()) {
    fault = faults.front();
    faults.pop_front();
  }
  if (!fault || fault->is_done) act();
  co_await runtime_.clock.sleep_for(cloud_->latency / 2);
  if (fault) throw CloudError(fault->kind, name + " went wrong", {}, {}, fault->is_answer);
}

bool ScriptedAdapter::shows(const ScriptedCloud::Thing& thing) const {
  return thing.shows_at <= runtime_.clock.now();
}

Task<std::string> ScriptedAdapter::make(std::string kind, Things& things, CreateSpec spec) {
  const std::string id = kind + "-" + std::to_string(runtime_.random.below(1'000'000));
  const std::function<void()> act = [&] {
    ++cloud_->made;
    things.push_back({.id = id,
                      .name = spec.hostname,
                      .metadata = spec.metadata,
                      .image = spec.image_external_id,
                      .shows_at = runtime_.clock.now() + cloud_->hidden});
  };
  co_await call("make " + kind, act);
  co_return id;
}

Task<std::optional<std::string>> ScriptedAdapter::find(std::string kind, Things& things,
                                                       std::string name) {
  std::optional<std::string> id;
  const std::function<void()> act = [&] {
    for (const auto& thing : things) {
      if (thing.name == name && shows(thing)) id = thing.id;
    }
  };
  co_await call("find " + kind, act);
  co_return id;
}

Task<std::string> ScriptedAdapter::step(LaunchSteps& steps, std::string kind, Things& things,
                                        CreateSpec spec) {
  const LaunchSteps::Make make_one = [&]() -> Task<std::string> {
    steps.set_external_id(model::json_string(spec.hostname));
    co_return co_await make(kind, things, spec);
  };
  const LaunchSteps::Find find_one = [&]() -> Task<std::optional<std::string>> {
    co_return co_await find(kind, things, spec.hostname);
  };
  co_return co_await steps.step(kind, make_one, find_one);
}

Task<Instance> ScriptedAdapter::create(CreateSpec spec, LaunchSteps& steps) {
  cloud_->expected = spec.expected;
  co_await step(steps, "disk", cloud_->disks, spec);
  co_await step(steps, "server", cloud_->servers, spec);
  steps.enter("booting");
  co_await poll();
  co_await runtime_.clock.sleep_for(cloud_->boot_time);
  const std::function<void()> act = [] {};
  co_await call("look", act);
  if (!cloud_->boots) throw CloudError(CloudError::Kind::failed, "the server does not come up");
  steps.booted(cloud_->boot_time);
  co_return cloud_->described;
}

// Returns when servers can be polled.
Task<> ScriptedAdapter::poll() {
  const auto tracer = async::tracer_of(co_await boost::asio::this_coro::executor);
  while (!cloud_->unlisted.empty()) {
    if (tracer) tracer->poll_failed("servers", cloud_->unlisted);
    co_await runtime_.clock.sleep_for(std::chrono::seconds(10));
  }
}

Task<> ScriptedAdapter::remove(model::Json external_id, LaunchSteps& steps) {
  cloud_->was_known_private = steps.is_known_private();
  const std::string name = external_id.string_value();
  const std::function<void()> act = [&] {
    const auto is_it = [&](const ScriptedCloud::Thing& thing) { return thing.name == name; };
    std::erase_if(cloud_->servers, is_it);
    std::erase_if(cloud_->disks, is_it);
  };
  co_await call("remove", act);
  co_await poll();
}

Task<MachineList> ScriptedAdapter::list() {
  MachineList list{.machines = cloud_->other_machines,
                   .is_complete = cloud_->has_complete_listings};
  const bool is_empty = cloud_->empty_listings > 0 && cloud_->empty_listings-- > 0;
  const std::function<void()> act = [&] {
    for (const auto& server : cloud_->servers) {
      if (is_empty || !shows(server)) continue;
      Machine& machine = list.machines.emplace_back();
      machine.external_id = model::json_string(server.name);
      machine.metadata = server.metadata;
      machine.resources = Resources({{"instances", 1}});
      machine.state = cloud_->state;
      machine.explanation = cloud_->explanation;
    }
  };
  co_await call("list", act);
  for (const Resource& other : cloud_->others) {
    if (other.type != kInstanceResource) continue;
    Machine& machine = list.machines.emplace_back();
    machine.external_id =
        other.id.starts_with('{') ? model::Json{other.id} : model::json_string(other.id);
    machine.metadata = other.metadata;
  }
  co_return list;
}

Task<std::vector<Resource>> ScriptedAdapter::other_resources() {
  const std::function<void()> act = [] {};
  co_await call("resources", act);
  std::vector<Resource> resources = cloud_->others;
  std::erase_if(resources, [](const Resource& other) { return other.type == kInstanceResource; });
  co_return resources;
}

Task<> ScriptedAdapter::remove_resource(Resource resource) {
  const std::function<void()> act = [&] {
    std::erase_if(cloud_->others, [&](const Resource& other) { return other.id == resource.id; });
    std::erase_if(cloud_->servers,
                  [&](const ScriptedCloud::Thing& server) { return server.name == resource.id; });
  };
  co_await call("remove " + resource.type + " " + resource.id, act);
}

Task<CloudDescription> ScriptedAdapter::describe(CloudDescription::Purpose /*purpose*/) {
  const ScriptedConfig config;
  const DescribeLabel describe = [this](std::string /*pool*/, std::string label) {
    return describe_label(std::move(label));
  };
  CloudDescription described;
  described.labels = co_await describe_labels(config, describe);
  const std::function<void()> act = [] {};
  co_await call("limits", act);
  described.limits = cloud_->limits;
  co_return described;
}

Task<LabelDescription> ScriptedAdapter::describe_label(std::string label) {
  const std::function<void()> act = [] {};
  co_await call("need " + label, act);
  LabelDescription described{.need = Resources({{"instances", 1}, {"cores", 4}})};
  const bool has_problem = label == "small" && !cloud_->label_problem.empty();
  if (has_problem) described.problem = images_unavailable(cloud_->label_problem);
  co_return described;
}

Task<std::optional<std::string>> ScriptedAdapter::diagnose(model::Json external_id,
                                                           bool wants_console) {
  cloud_->calls.push_back("scan failed " + external_id.string_value());
  if (!wants_console) co_return std::nullopt;
  const std::function<void()> act = [] {};
  co_await call("console", act);
  co_return "console of " + external_id.string_value();
}

void ScriptedImages::call(const std::string& name) {
  cloud_->calls.push_back(name);
  auto& faults = cloud_->faults[name];
  if (faults.empty()) return;
  const Fault fault = faults.front();
  faults.pop_front();
  throw CloudError(fault.kind, name + " went wrong");
}

Task<std::string> ScriptedImages::upload(ProviderImage /*image*/, std::string name,
                                         ImageFile /*file*/, Metadata /*metadata*/,
                                         Progress /*progress*/) {
  throw CloudError(CloudError::Kind::permanent, "no upload of " + name);
}

Task<> ScriptedImages::remove(std::string /*name*/, std::string external_id) {
  call("remove image " + external_id);
  std::erase_if(cloud_->images, [&](const CloudImage& image) { return image.id == external_id; });
  co_return;
}

Task<std::vector<CloudImage>> ScriptedImages::list() {
  call("images");
  co_return cloud_->images;
}

}  // namespace nodepool::driver
