#pragma once

#include <memory>
#include <string>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/token_cache.h"
#include "drivers/kubernetes/kubeconfig/cluster.h"
#include "telemetry/log.h"

namespace nodepool::drivers::kubernetes {

// What shows the cluster who asks. Never to be logged.
struct Credential {
  std::string header;  // of the name Authorization; empty: the client certificate says it
  std::string token;   // the one that is in it; empty: there is none
  cloud::TokenLife life = {};
};

// The credential of a cluster's user: as the kubeconfig has it, from a file that somebody keeps up
// to date, or from a program.
class Credentials {
 public:
  using Pointer = std::shared_ptr<const Credential>;

  // `cluster` and `threads` outlive it.
  Credentials(const async::Runtime& runtime, const Cluster& cluster, async::ThreadPool& threads,
              telemetry::Logger log);

  // One that is good for some time yet. Throws CloudError(auth).
  async::Task<Pointer> get() { co_return co_await cache_.get(); }
  // It has not been accepted: the next get() asks for another one.
  void refused(const Pointer& credential) { cache_.refused(credential); }
  // After the last call.
  async::Task<> stop() { return cache_.stop(); }

 private:
  async::Task<Credential> ask();
  async::Task<Credential> read_token_file();

  async::Runtime runtime_;
  const Cluster& cluster_;
  async::ThreadPool& threads_;
  cloud::TokenCache<Credential> cache_;
};

}  // namespace nodepool::drivers::kubernetes
