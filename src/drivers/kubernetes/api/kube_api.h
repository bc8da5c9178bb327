#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/thread_pool.h"
#include "cloud/answer.h"
#include "cloud/pages.h"
#include "drivers/kubernetes/api/credentials.h"
#include "drivers/kubernetes/kubeconfig/cluster.h"

namespace nodepool::drivers::kubernetes {

using cloud::Element;
using cloud::Json;

// Whether the cluster's words speak of a quota that is used up.
bool speaks_of_quota(std::string_view message);

// The API of one cluster, as one user of it. Every function throws CloudError; the cluster's words
// are in its text, which name the permission where one is missing.
//
// `name` says what for, without names of things: "create pod"; `path` is "/api/v1/…".
class KubeApi {
 public:
  // `cluster` and `threads` outlive it.
  KubeApi(const async::Runtime& runtime, const Cluster& cluster, async::ThreadPool& threads,
          telemetry::Logger log, http::Client::Observer on_attempt);

  // Whether something that carries a name was made; not if something with that name is there.
  // `once`: where another one must not be made if the answer is lost: CloudError(unknown_outcome).
  // Otherwise the call is repeated, since it cannot make two.
  enum class Twice { harmless, once };
  async::Task<bool> make(std::string name, std::string path, Json body, Twice twice);

  async::Task<std::optional<Element>> find(std::string name, std::string path);

  // What `read` makes of each thing of a collection, page by page; `query` without "?", may be
  // empty.
  template <typename Read>
  async::Task<std::vector<cloud::ReadItem<Read>>> list(const std::string& name,
                                                       const std::string& path,
                                                       const std::string& query, Read read) {
    return cloud::all_pages(name, pages_of(name, path, query), std::move(read));
  }

  // Begins to delete it, and what is in it. Returns whether it was there.
  async::Task<bool> remove(std::string name, std::string path);

  // Follows a collection for some minutes: calls `on_change` for what is there, and when something
  // changes. Returns when the cluster ends it.
  async::Task<> watch(std::string name, std::string path, std::string query,
                      std::function<void()> on_change);

  // The token that calls carry; empty if they carry none.
  async::Task<std::string> token();

  // After the last call.
  async::Task<> stop() { return credentials_.stop(); }

 private:
  async::Task<http::Response> send(http::Request request, cloud::Effect effect,
                                   cloud::IsAnswer is_answer);
  http::Request request(std::string name, std::string method, const std::string& path) const;
  void show(http::Request& request, const Credential& credential) const;
  cloud::AskPage pages_of(std::string name, const std::string& path, const std::string& query);
  async::Task<cloud::Page> ask_page(std::string name, std::string path, std::string query);

  const Cluster& cluster_;
  Credentials credentials_;
  http::Client client_;
};

}  // namespace nodepool::drivers::kubernetes
