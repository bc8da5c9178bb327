#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "coordination/store.h"
#include "model/observers.h"

namespace nodepool::launcher {

// The requests whose locks a pool of this launcher takes or holds. Its other pools leave them alone
// meanwhile: each would fail to take the lock, and know it only after a round trip and a pause.
class RequestsInHand {
 public:
  // Keeps a request in hand for as long as it exists. The collection outlives it.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept;
    Hold& operator=(Hold&& other) noexcept;
    ~Hold();

    // Lets go of the request, if it is held.
    void release();

   private:
    friend class RequestsInHand;
    Hold(RequestsInHand& all, std::string id) : all_(&all), id_(std::move(id)) {}

    RequestsInHand* all_ = nullptr;
    std::string id_;
  };

  // Takes a request that is not in hand.
  Hold take(const std::string& id);

  bool contains(std::string_view id) const { return ids_.contains(id); }

  // Calls `observer` with the id of each request that is no longer in hand.
  coordination::Subscription observe(std::function<void(const std::string&)> observer) {
    return released_.subscribe(std::move(observer));
  }

 private:
  std::set<std::string, std::less<>> ids_;
  model::Observers<const std::string&> released_;
};

}  // namespace nodepool::launcher
