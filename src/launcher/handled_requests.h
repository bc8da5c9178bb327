#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "coordination/store.h"
#include "model/observers.h"

namespace nodepool::launcher {

// The requests that a pool of this launcher is serving or declining, under their locks. Its other
// pools leave them alone meanwhile: each would fail to take the lock, and know it only after a
// round trip and a pause.
class HandledRequests {
 public:
  // The request is handled as long as this exists. The collection outlives it.
  class Mark {
   public:
    Mark() = default;
    Mark(Mark&& other) noexcept;
    Mark& operator=(Mark&& other) noexcept;
    ~Mark();

    // The request is no longer handled.
    void release();

   private:
    friend class HandledRequests;
    Mark(HandledRequests& all, std::string id) : all_(&all), id_(std::move(id)) {}

    HandledRequests* all_ = nullptr;
    std::string id_;
  };

  // The request is handled from now on. It was not before.
  Mark mark(const std::string& id);

  bool contains(std::string_view id) const { return ids_.contains(id); }

  // Calls `observer` with the id of each request that is no longer handled.
  coordination::Subscription observe(std::function<void(const std::string&)> observer) {
    return released_.subscribe(std::move(observer));
  }

 private:
  std::set<std::string, std::less<>> ids_;
  model::Observers<const std::string&> released_;
};

}  // namespace nodepool::launcher
