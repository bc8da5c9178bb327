#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "coordination/store.h"

namespace nodepool::launcher {

// The requests that a pool of this launcher is serving or declining, under their locks. Its other
// pools leave them alone meanwhile: each would fail to take the lock, and know it only after a
// round trip and a pause.
class HandledRequests {
  struct State;

 public:
  HandledRequests();

  // The request is handled as long as this exists. It may outlive the collection, in a coroutine
  // that is destroyed late.
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
    Mark(std::weak_ptr<State> all, std::string id) : all_(std::move(all)), id_(std::move(id)) {}

    std::weak_ptr<State> all_;
    std::string id_;
  };

  // The request is handled from now on. It was not before.
  Mark mark(const std::string& id);

  bool contains(std::string_view id) const;

  // Calls `observer` with the id of each request that is no longer handled.
  coordination::Subscription observe(std::function<void(const std::string&)> observer);

 private:
  std::shared_ptr<State> state_;
};

}  // namespace nodepool::launcher
