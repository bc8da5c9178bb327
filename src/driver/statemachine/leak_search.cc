#include "driver/statemachine/leak_search.h"

#include <fmt/format.h>

#include "async/deadline.h"
#include "async/event.h"
#include "async/task_scope.h"
#include "driver/cloud_error.h"

namespace nodepool::driver {

namespace {

constexpr const char* kImageResource = "image";

// How long the deletion of one thing may take before it is begun anew.
constexpr auto kRemovalTimeout = std::chrono::seconds(600);

}  // namespace

LeakSearch::LeakSearch(ProviderContext context, std::string provider, Adapter& adapter,
                       telemetry::Logger log)
    : context_(std::move(context)),
      provider_(std::move(provider)),
      adapter_(adapter),
      log_(std::move(log)),
      resources_(provider_),
      images_(provider_) {}

Task<> LeakSearch::run() {
  co_await search("leftovers", remove_leftovers());
  co_await search("resources of nodes", search_resources());
  co_await search("images", search_images());
}

Task<> LeakSearch::search(std::string what, Task<> searching) {
  try {
    co_await std::move(searching);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    log_.warning("Could not look for leaked {}: {}", what, error.what());
  }
}

Task<> LeakSearch::remove_leftovers() {
  const std::map<std::string, std::int64_t> removed = co_await adapter_.remove_leftovers();
  for (const auto& [type, count] : removed) {
    context_.metrics.count(fmt::format("nodepool.provider.{}.leaked.{}s", provider_, type), count);
  }
}

// A node has one machine, whose id is known once it is ready: another one was made by an attempt
// whose outcome nobody learned.
bool LeakSearch::is_of_node(const std::string& node_id, const Resource& resource) const {
  const model::Node* node = context_.nodes.find(node_id);
  if (node == nullptr || node->provider != provider_) return false;
  const bool is_made = !model::is_returnable(node->state) && node->state != model::NodeState::init;
  return resource.type != kInstanceResource || !is_made ||
         may_be_machine(node->external_id, resource.id);
}

Task<> LeakSearch::search_resources() {
  const std::vector<Resource> resources = co_await adapter_.resources();
  if (!context_.nodes.ready()) co_return;
  const auto node = [this](const std::string& id, const Resource& resource) {
    return is_of_node(id, resource);
  };
  const auto upload = [](const std::string&, const std::string&) { return true; };
  const Remove remove = [this](Resource resource) {
    return adapter_.remove_resource(std::move(resource));
  };
  std::vector<Resource> leaked =
      resources_.look_at(resources, {.node = node, .upload = upload});
  co_await remove_all(std::move(leaked), remove);
}

Task<> LeakSearch::search_images() {
  ImageSupport* support = adapter_.images();
  if (support == nullptr) co_return;
  const std::vector<CloudImage> listed = co_await support->list();
  if (!context_.images.ready()) co_return;
  std::vector<Resource> images;
  images.reserve(listed.size());
  for (const CloudImage& image : listed) {
    images.push_back({.type = kImageResource, .id = image.id, .metadata = image.metadata});
  }
  const auto uploads = context_.images.known_uploads(provider_);
  const auto node = [](const std::string&, const Resource&) { return true; };
  const auto upload = [&uploads](const std::string& build, const std::string& id) {
    return uploads.contains({build, id});
  };
  const Remove remove = [support](Resource resource) {
    return support->remove("", std::move(resource.id));
  };
  std::vector<Resource> leaked = images_.look_at(images, {.node = node, .upload = upload});
  co_await remove_all(std::move(leaked), remove);
}

// Side by side: what the cloud does not get rid of takes all its time.
Task<> LeakSearch::remove_all(std::vector<Resource> leaked, Remove remove) {
  std::size_t unfinished = leaked.size();
  async::Event ended{"a leaked resource is deleted"};
  async::TaskScope scope(context_.runtime, [this](const std::string& name, const std::string& error) {
    log_.error("{}: {}", name, error);
  });
  for (Resource& resource : leaked) {
    const std::string name = "delete leaked " + resource.type + " " + resource.id;
    scope.spawn(name, remove_one(std::move(resource), remove, unfinished, ended));
  }
  bool cancelled = false;
  try {
    while (unfinished > 0) co_await ended.wait();
  } catch (const async::Cancelled&) {
    cancelled = true;
  }
  co_await scope.stop();
  if (cancelled) throw async::Cancelled();
}

Task<> LeakSearch::remove_one(Resource resource, Remove remove, std::size_t& unfinished,
                              async::Event& ended) {
  std::string failure;
  try {
    Task<> removing = remove(resource);
    co_await async::with_deadline(context_.runtime.clock,
                                  context_.runtime.clock.now() + kRemovalTimeout,
                                  std::move(removing), "the deletion");
  } catch (const async::Cancelled&) {
    throw;
  } catch (const CloudError& error) {
    if (error.kind() != CloudError::Kind::not_found) failure = error.what();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (failure.empty()) {
    log_.warning("Deleted leaked {} {}", resource.type, resource.id);
    context_.metrics.count(
        fmt::format("nodepool.provider.{}.leaked.{}s", provider_, resource.type));
  } else {
    log_.error("Leaked {} {} could not be deleted: {}", resource.type, resource.id, failure);
  }
  --unfinished;
  ended.set();
}

}  // namespace nodepool::driver
