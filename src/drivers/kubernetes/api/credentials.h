#pragma once

#include <memory>
#include <string>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/token_cache.h"
#include "drivers/kubernetes/kubeconfig/cluster.h"
#include "telemetry/log.h"

namespace nodepool::drivers::kubernetes {

// The credential of a call. Never log it.
struct Credential {
  std::string header;  // Authorization header; empty: a client certificate is used
  std::string token;   // the token in the header; empty: none
  cloud::TokenLife life = {};
};

// The credential of a cluster's user: from the kubeconfig, a token file or an exec plug-in.
class Credentials {
 public:
  using Pointer = std::shared_ptr<const Credential>;

  // `cluster` and `threads` outlive it.
  Credentials(const async::Runtime& runtime, const Cluster& cluster, async::ThreadPool& threads,
              telemetry::Logger log);

  // A valid credential. Throws CloudError(auth).
  async::Task<Pointer> get() { co_return co_await cache_.get(); }
  // The cluster has rejected the credential: the next get() obtains a new one.
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
