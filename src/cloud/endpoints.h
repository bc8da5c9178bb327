#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "http/client.h"

namespace nodepool::cloud {

// Base class of what the providers on one account share: rate limit, token and listings.
class Endpoint {
 public:
  // A provider that uses the endpoint.
  struct Member {
    double rate = 0;                    // calls a second; 0: no limit
    http::Client::Observer on_attempt;  // for shared calls
  };
  using Membership = std::uint64_t;

  Endpoint() = default;
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Adds a provider. The lowest rate of all members applies. Shared calls are reported to the
  // oldest member.
  Membership join(Member member);

  // Removes a provider, after its last call. The last one stops the endpoint.
  async::Task<> leave(Membership membership);

 protected:
  // Whether the last provider has left: a new one gets a new endpoint.
  bool is_closed() const { return closed_; }

  // For shared calls. The endpoint outlives it.
  http::Client::Observer observer() {
    return [this](const http::Attempt& attempt) { report(attempt); };
  }

 private:
  // Sets the rate limit, if the endpoint has one; see Member::rate.
  virtual void set_rate(double /*rate*/) {}
  // Called once, after the last call of all members.
  virtual async::Task<> stop() = 0;

  void report(const http::Attempt& attempt) const;
  double lowest_rate() const;

  std::map<Membership, Member> members_;
  Membership last_ = 0;
  bool closed_ = false;
};

// The endpoints of a driver, each an account in a region. `Shared` is derived from Endpoint and has
// a function `is_of(account)`. An endpoint lives as long as a provider holds it.
template <typename Account, typename Shared>
class Endpoints {
 public:
  using Make = std::function<std::shared_ptr<Shared>()>;

  // The endpoint of this account on this event loop; makes it if there is none.
  std::shared_ptr<Shared> find(const async::Runtime& runtime, const Account& account,
                               const Make& make) {
    std::shared_ptr<Shared> found;
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
    std::weak_ptr<Shared> endpoint;
  };
  std::vector<Entry> known_;
};

}  // namespace nodepool::cloud
