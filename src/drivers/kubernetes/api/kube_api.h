#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/thread_pool.h"
#include "cloud/element.h"
#include "cloud/pages.h"
#include "cloud/rest/rest_client.h"
#include "drivers/kubernetes/api/credentials.h"
#include "drivers/kubernetes/kubeconfig/cluster.h"
#include "http/rate_governor.h"
#include "http/rate_limit.h"

namespace nodepool::drivers::kubernetes {

using cloud::Element;
using cloud::Json;

// What all calls of one user of a cluster share: the credential, and the pauses that the cluster
// asks for.
class ClusterAccount {
 public:
  // `threads` outlives it.
  ClusterAccount(const async::Runtime& runtime, Cluster cluster, async::ThreadPool& threads,
                 const telemetry::Logger& log);

  const Cluster& cluster() const { return cluster_; }
  Credentials& credentials() { return credentials_; }
  http::RateLimit& rate_limit() { return rate_limit_; }

  // Call it after the last call.
  async::Task<> stop() { return credentials_.stop(); }

 private:
  Cluster cluster_;
  Credentials credentials_;
  http::RateGovernor rate_limit_;  // without a limit
};

// The API of one cluster. All functions throw CloudError with the cluster's message, which names a
// missing permission.
//
// `name` is the call's name without names of objects: "create pod"; `path` is "/api/v1/…".
class KubeApi {
 public:
  // `account` outlives it. `on_attempt` is called for every attempt of a call.
  KubeApi(const async::Runtime& runtime, ClusterAccount& account, const telemetry::Logger& log,
          http::Client::Observer on_attempt);

  // Makes an object; returns false if an object with its name exists. `forbidden`: an unknown
  // outcome is CloudError(unknown_outcome). `allowed`: the call is retried, as it cannot make a
  // duplicate.
  enum class Retry { allowed, forbidden };
  async::Task<bool> make(std::string name, std::string path, Json body, Retry retry);

  async::Task<std::optional<Element>> find(std::string name, std::string path);

  // The results of `read` for all objects of a paginated collection. `query` without "?"; may be
  // empty.
  template <typename Read>
  async::Task<std::vector<cloud::ReadItem<Read>>> list(const std::string& name,
                                                       const std::string& path,
                                                       const std::string& query, Read read) {
    return cloud::all_pages(name, pages_of(name, path, query), std::move(read));
  }

  // Begins to delete an object and its contents. Returns whether it existed.
  async::Task<bool> remove(std::string name, std::string path);

  // Watches a collection for some minutes: calls `on_change` for existing objects, and for each
  // change. Returns when the cluster ends the watch.
  async::Task<> watch(std::string name, std::string path, std::string query,
                      std::function<void()> on_change);

  // The token of the calls; empty if there is none.
  async::Task<std::string> token();

 private:
  async::Task<cloud::RestOptions::Reject> authorize(http::Request& request);
  async::Task<http::Response> send(http::Request request,
                                   cloud::Effect effect = cloud::Effect::none);
  http::Request request(std::string name, std::string method, const std::string& path) const;
  cloud::AskPage pages_of(std::string name, const std::string& path, const std::string& query);
  async::Task<cloud::Page> ask_page(std::string name, std::string path, std::string query);

  const Cluster& cluster_;
  Credentials& credentials_;
  http::Client client_;
  cloud::RestClient calls_;
};

}  // namespace nodepool::drivers::kubernetes
