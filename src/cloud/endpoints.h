#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "async/runtime.h"

namespace nodepool::cloud {

// The endpoints of a driver. Each is an account in a region, with what its providers share: rate
// limit, token and listings. `Endpoint` has a function `is_of(account)`. An endpoint lives as long
// as a provider holds it.
template <typename Account, typename Endpoint>
class Endpoints {
 public:
  using Make = std::function<std::shared_ptr<Endpoint>()>;

  // The endpoint of this account on this event loop; makes it if there is none.
  std::shared_ptr<Endpoint> find(const async::Runtime& runtime, const Account& account,
                                 const Make& make) {
    std::shared_ptr<Endpoint> found;
    std::erase_if(known_, [](const Entry& entry) { return entry.endpoint.expired(); });
    for (const Entry& entry : known_) {
      auto endpoint = entry.endpoint.lock();
      if (entry.executor == runtime.executor && endpoint->is_of(account)) found = endpoint;
    }
    if (found) return found;
    found = make();
    known_.push_back({runtime.executor, found});
    return found;
  }

 private:
  struct Entry {
    async::Executor executor;
    std::weak_ptr<Endpoint> endpoint;
  };
  std::vector<Entry> known_;
};

}  // namespace nodepool::cloud
