#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "coordination/store.h"

namespace nodepool::model {

// Functions to call when something happens. A function is called until its subscription is gone.
template <typename... Arguments>
class Observers {
 public:
  using Function = std::function<void(Arguments...)>;

  coordination::Subscription subscribe(Function function) {
    auto shared = std::make_shared<Function>(std::move(function));
    functions_.push_back(shared);
    return shared;
  }

  // Whether nobody is told any more.
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
