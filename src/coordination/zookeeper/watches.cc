#include "coordination/zookeeper/watches.h"

#include <utility>

#include "coordination/path.h"

namespace nodepool::coordination::zookeeper {

struct Watches::Watch {
  std::string root;
  WatchHandler handler;
  std::uint64_t number = 0;
  bool has_begun = false;
  std::weak_ptr<Registry> registry;

  ~Watch();
};

struct Watches::Registry {
  Unwatch unwatch;
  std::uint64_t latest = 0;
  std::vector<std::weak_ptr<Watch>> watches;  // owned by their subscriptions

  // By index, because handlers may change the list.
  template <typename Call>
  void for_each(Call call) const {
    for (std::size_t i = 0; i < watches.size(); ++i) {
      if (const auto watch = watches[i].lock()) call(*watch);
    }
  }
};

Watches::Watch::~Watch() {
  const std::shared_ptr<Registry> still_there = registry.lock();
  if (!still_there) return;
  bool watched = false;
  still_there->for_each([&](const Watch& other) { watched = watched || other.root == root; });
  if (!watched) still_there->unwatch(root);
}

Watches::Watches(Unwatch unwatch) : registry_(std::make_shared<Registry>()) {
  registry_->unwatch = std::move(unwatch);
}

Subscription Watches::add(std::string root, WatchHandler handler) {
  require_valid_path(root);
  const auto watch = std::make_shared<Watch>();
  watch->root = std::move(root);
  watch->handler = std::move(handler);
  watch->number = ++registry_->latest;
  watch->registry = registry_;
  registry_->watches.push_back(watch);
  return watch;
}

std::uint64_t Watches::latest() const {
  return registry_->latest;
}

std::set<std::string> Watches::roots() const {
  std::set<std::string> roots;
  registry_->for_each([&roots](const Watch& watch) { roots.insert(watch.root); });
  return roots;
}

void Watches::lose() {
  registry_->for_each([](Watch& watch) { watch.has_begun = false; });
}

void Watches::begin(const std::string& root, std::uint64_t latest) {
  const auto registry = registry_;
  registry->for_each([&root, latest](Watch& watch) {
    if (watch.has_begun || watch.number > latest || watch.root != root) return;
    watch.has_begun = true;
    watch.handler({WatchEvent::Kind::resync, {}});
  });
  std::erase_if(registry->watches, [](const auto& watch) { return watch.expired(); });
}

void Watches::notify(const WatchEvent& event) {
  const auto registry = registry_;
  registry->for_each([&event](const Watch& watch) {
    if (watch.has_begun && is_within(event.path, watch.root)) watch.handler(event);
  });
}

void Watches::clear() {
  registry_->watches.clear();
}

}  // namespace nodepool::coordination::zookeeper
