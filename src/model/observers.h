#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "coordination/store.h"

namespace nodepool::model {

// Functions to call on an event. A function is called as long as its subscription exists.
template <typename... Arguments>
class Observers {
 public:
  using Function = std::function<void(Arguments...)>;

  coordination::Subscription subscribe(Function function) {
    auto shared = std::make_shared<Function>(std::move(function));
    functions_.push_back(shared);
    return shared;
  }

  // Whether there are no subscriptions.
  bool empty() {
    std::erase_if(functions_, [](const auto& weak) { return weak.expired(); });
    return functions_.empty();
  }

  void notify(Arguments... arguments) {
    std::erase_if(functions_, [](const auto& weak) { return weak.expired(); });
    const auto functions = functions_;  // a function may subscribe another one
    for (const auto& weak : functions) {
      if (const auto function = weak.lock()) (*function)(arguments...);
    }
  }

 private:
  std::vector<std::weak_ptr<Function>> functions_;
};

}  // namespace nodepool::model
