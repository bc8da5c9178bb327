#include "driver/statemachine/leak_search.h"

#include <utility>

#include "async/deadline.h"
#include "async/task_scope.h"
#include "driver/driver_metrics.h"
#include "driver/if_exists.h"
#include "telemetry/log_errors.h"

namespace nodepool::driver {

namespace {

constexpr const char* kImageResource = "image";

// Timeout of one deletion; the next search retries it.
constexpr auto kRemovalTimeout = std::chrono::seconds(600);

}  // namespace

LeakSearch::LeakSearch(ProviderContext context, std::string provider, Adapter& adapter,
                       MachineInventory& machines, const Ownership& ownership,
                       telemetry::Logger log)
    : context_(std::move(context)),
      provider_(std::move(provider)),
      adapter_(adapter),
      machines_(machines),
      ownership_(ownership),
      log_(std::move(log)),
      services_{Service{.what = "resources of nodes", .find = &LeakSearch::find_resources},
                Service{.what = "images", .find = &LeakSearch::find_images}} {}

Task<> LeakSearch::run() {
  for (Service& service : services_) co_await search(service);
}

Task<std::vector<Leak>> LeakSearch::leaks() {
  std::vector<Leak> all;
  for (const Service& service : services_) {
    std::vector<Leak> found = co_await (this->*service.find)();
    for (Leak& leak : found) all.push_back(std::move(leak));
  }
  co_return all;
}

Task<> LeakSearch::search(Service& service) {
  try {
    co_await clean(service);
    if (std::exchange(service.is_failing, false)) {
      log_.info("The search for leaked {} works again", service.what);
    }
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    if (std::exchange(service.is_failing, true)) {
      log_.debug("Error searching for leaked {}: {}", service.what, error.what());
    } else {
      log_.warning("Error searching for leaked {}: {}", service.what, error.what());
    }
  }
}

Task<> LeakSearch::clean(Service& service) {
  std::vector<Leak> found = co_await (this->*service.find)();
  if (!context_.nodes.ready() || !context_.images.ready()) co_return;
  if (!co_await is_own_store()) co_return;
  std::vector<Leak> leaks = service.memory.seen_again(std::move(found));
  report(service, leaks);
  std::erase_if(leaks, [](const Leak& leak) { return !leak.is_ours; });
  co_await remove_all(std::move(leaks));
}

// A store that was emptied or replaced while the launcher runs lacks the records of nodes in use.
Task<bool> LeakSearch::is_own_store() {
  const model::Installation stored = co_await model::find_installation(context_.store);
  const std::string& own = ownership_.installation().id;
  const bool is_own = stored.id == own;
  if (!is_own && !has_reported_store_) {
    log_.error("The store no longer belongs to installation {}: not deleting leaks", own);
  }
  has_reported_store_ = !is_own;
  co_return is_own;
}

// Logs each leak once.
void LeakSearch::report(Service& service, const std::vector<Leak>& leaks) {
  std::set<std::string> reported;
  for (const Leak& leak : leaks) {
    if (leak.is_ours) continue;
    std::string name = name_of(leak);
    if (!service.reported.contains(name)) {
      log_.warning(
          "Not deleting {}, which is tagged with provider {}: {} (see `nodepool leak-list`)", name,
          provider_, leak.reason);
    }
    reported.insert(std::move(name));
  }
  service.reported = std::move(reported);
}

namespace {

// Whether the node's launch has succeeded, and its deletion has not begun.
bool has_its_machine(model::NodeState state) {
  switch (state) {
    case model::NodeState::ready:
    case model::NodeState::in_use:
    case model::NodeState::hold:
    case model::NodeState::testing:
      return true;
    default:
      return false;
  }
}

// An id that cannot be compared may be of any machine.
bool may_be_of(const Resource& resource, const model::Node& node) {
  const bool is_comparable =
      !identifiers_in(resource.external_id).empty() && !identifiers_in(node.external_id).empty();
  return !is_comparable || is_same_machine(resource.external_id, node.external_id);
}

}  // namespace

// A node that is ready or in use has one machine, whose id is known. Another machine with its tags
// was made by an attempt with unknown outcome, or for an earlier node with the same id.
RecordQueries::Node LeakSearch::record_of(const std::string& node_id,
                                          const Resource& resource) const {
  if (context_.nodes.is_unreadable(node_id)) return RecordQueries::Node::has_it;
  const model::Node* node = context_.nodes.find(node_id);
  if (node == nullptr || node->provider != provider_) return RecordQueries::Node::none;
  if (is_of_another_record(resource.metadata, *node)) return RecordQueries::Node::is_another;
  const bool may_be_its = !has_its_machine(node->state) || may_be_of(resource, *node);
  return may_be_its ? RecordQueries::Node::has_it : RecordQueries::Node::has_other;
}

Task<std::vector<Leak>> LeakSearch::find_resources() {
  const MachineInventory::Pointer machines = co_await machines_.list();
  std::vector<Resource> resources = co_await adapter_.other_resources();
  for (const Machine& machine : machines->all()) {
    if (machine.is_there() && !machine.metadata.empty()) resources.push_back(machine.as_resource());
  }
  const RecordQueries records{
      .node = [this](const std::string& id,
                     const Resource& resource) { return record_of(id, resource); },
      .upload = [](const std::string&, const std::string&) { return true; }};
  co_return find_leaks(resources, ownership_, records);
}

Task<std::vector<Leak>> LeakSearch::find_images() {
  ImageSupport* support = adapter_.traits().images;
  if (support == nullptr) co_return std::vector<Leak>{};
  const std::vector<CloudImage> listed = co_await support->list();
  std::vector<Resource> images;
  images.reserve(listed.size());
  for (const CloudImage& image : listed) {
    images.push_back({.type = kImageResource, .id = image.id, .metadata = image.metadata});
  }
  const auto uploads = context_.images.known_uploads(provider_);
  const RecordQueries records{
      .node = [](const std::string&, const Resource&) { return RecordQueries::Node::has_it; },
      .upload = [&uploads](
                    const std::string& build,
                    const std::string& upload) { return uploads.contains({build, upload}); }};
  co_return find_leaks(images, ownership_, records);
}

Task<> LeakSearch::remove(Leak leak) {
  ImageSupport* images = adapter_.traits().images;
  const bool is_image = leak.type == kImageResource && images != nullptr;
  Task<> removing = is_image ? images->remove("", std::move(leak.id))
                             : adapter_.remove_resource({.type = std::move(leak.type),
                                                         .id = std::move(leak.id),
                                                         .metadata = std::move(leak.metadata)});
  co_await if_exists(std::move(removing));
}

// Concurrently: a deletion that the cloud does not finish takes until its timeout.
Task<> LeakSearch::remove_all(std::vector<Leak> leaks) {
  async::TaskScope scope(context_.runtime, telemetry::log_errors(log_));
  for (Leak& leak : leaks) {
    const std::string name = "delete leaked " + name_of(leak);
    scope.spawn(name, remove_one(std::move(leak)));
  }
  co_await scope.join_or_stop();
}

Task<> LeakSearch::remove_one(Leak leak) {
  std::string failure;
  try {
    Task<> removing = remove(leak);
    co_await async::with_deadline(context_.runtime.clock,
                                  context_.runtime.clock.now() + kRemovalTimeout,
                                  std::move(removing), "the deletion");
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (failure.empty()) {
    log_.warning("Deleted leaked {}: {}", name_of(leak), leak.reason);
    context_.metrics.count(telemetry::series<kLeakedResources>(provider_, leak.type));
  } else {
    log_.error("Error deleting leaked {}: {}", name_of(leak), failure);
  }
}

}  // namespace nodepool::driver
