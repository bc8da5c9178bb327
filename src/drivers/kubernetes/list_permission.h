#pragma once

#include <string>
#include <utility>
#include <vector>

#include "async/backoff.h"
#include "async/runtime.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/api/classify.h"
#include "telemetry/log.h"

namespace nodepool::drivers::kubernetes {

// Lists a collection that the user may not be allowed to list. The permission may be granted or
// withdrawn at any time.
class ListPermission {
 public:
  // For the log: `things` are listed, such as "the pods of project a"; `loss` is the effect of a
  // missing permission, such as "Not finding leaks".
  ListPermission(const async::Runtime& runtime, telemetry::Logger log, std::string things,
                 std::string loss);

  // Returns the result of `listing`, or an unknown `List` if the cluster forbids it. Then logs one
  // warning, and awaits the next `listing` after a backoff of 1 s up to a minute. Throws what
  // `listing` throws. `List` is a cloud::ById.
  template <typename List>
  async::Task<List> list(async::Task<std::vector<typename List::Thing>> listing) {
    if (runtime_.clock.now() < retry_at_) co_return List::unknown();
    try {
      List listed(co_await std::move(listing));
      granted();
      co_return listed;
    } catch (const driver::CloudError& error) {
      if (!lacks_permission(error)) throw;
      refused(error);
    }
    co_return List::unknown();
  }

 private:
  void granted();
  void refused(const driver::CloudError& error);

  async::Runtime runtime_;
  telemetry::Logger log_;
  std::string things_;
  std::string loss_;
  async::Backoff backoff_;  // has failed: the user may not list them
  async::Clock::TimePoint retry_at_{};
};

}  // namespace nodepool::drivers::kubernetes
