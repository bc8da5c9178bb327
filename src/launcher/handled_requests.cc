#include "launcher/handled_requests.h"

#include <set>

#include "model/observers.h"

namespace nodepool::launcher {

struct HandledRequests::State {
  std::set<std::string, std::less<>> ids;
  model::Observers<const std::string&> released;
};

HandledRequests::HandledRequests() : state_(std::make_shared<State>()) {}

HandledRequests::Mark::Mark(Mark&& other) noexcept
    : all_(std::exchange(other.all_, {})), id_(std::move(other.id_)) {}

HandledRequests::Mark& HandledRequests::Mark::operator=(Mark&& other) noexcept {
  release();
  all_ = std::exchange(other.all_, {});
  id_ = std::move(other.id_);
  return *this;
}

HandledRequests::Mark::~Mark() {
  release();
}

void HandledRequests::Mark::release() {
  const std::shared_ptr<State> all = std::exchange(all_, {}).lock();
  if (!all) return;
  all->ids.erase(id_);
  all->released.notify(id_);
}

HandledRequests::Mark HandledRequests::mark(const std::string& id) {
  state_->ids.insert(id);
  return {state_, id};
}

bool HandledRequests::contains(std::string_view id) const {
  return state_->ids.contains(id);
}

coordination::Subscription HandledRequests::observe(
    std::function<void(const std::string&)> observer) {
  return state_->released.subscribe(std::move(observer));
}

}  // namespace nodepool::launcher
