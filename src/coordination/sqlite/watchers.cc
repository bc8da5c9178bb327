#include "coordination/sqlite/watchers.h"

#include <utility>

#include "coordination/path.h"

namespace nodepool::coordination::sqlite {

Subscription Watchers::add(std::string root, WatchHandler handler) {
  require_valid_path(root);
  auto watcher = std::make_shared<Watcher>(std::move(root), std::move(handler));
  watchers_.push_back(watcher);
  return watcher;
}

void Watchers::prepare() {
  std::erase_if(watchers_, [](const auto& watcher) { return watcher.expired(); });
  for (const auto& entry : watchers_) {
    const auto watcher = entry.lock();
    if (watcher->stage == Stage::added) watcher->stage = Stage::prepared;
  }
}

void Watchers::notify(const std::vector<WatchEvent>& changes) {
  for (const WatchEvent& change : changes) notify(change);
  // By index, because handlers may change the list.
  for (std::size_t i = 0; i < watchers_.size(); ++i) {
    const auto watcher = watchers_[i].lock();
    if (!watcher || watcher->stage != Stage::prepared) continue;
    watcher->stage = Stage::begun;
    watcher->handler({WatchEvent::Kind::resync, {}});
  }
}

void Watchers::resync() {
  notify(WatchEvent{WatchEvent::Kind::resync, {}});
}

void Watchers::notify(const WatchEvent& event) {
  const bool to_all = event.kind == WatchEvent::Kind::resync;
  for (std::size_t i = 0; i < watchers_.size(); ++i) {
    const auto watcher = watchers_[i].lock();
    if (!watcher || watcher->stage != Stage::begun) continue;
    if (to_all || is_within(event.path, watcher->root)) watcher->handler(event);
  }
}

}  // namespace nodepool::coordination::sqlite
