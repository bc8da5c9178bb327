#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "async/runtime.h"

namespace nodepool::cloud {

// The endpoints of a driver: an account in a region each, with what its providers share: the pace
// of calls, the token, what is listed. `Endpoint` has a function `is_of(account)`. One lives as
// long as somebody holds it.
template <typename Account, typename Endpoint>
class Endpoints {
 public:
  using Make = std::function<std::shared_ptr<Endpoint>()>;

  // The one of this account, for whoever runs on this loop; made if nobody has it.
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
