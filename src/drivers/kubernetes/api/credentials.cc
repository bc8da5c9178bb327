#include "drivers/kubernetes/api/credentials.h"

#include "cloud/base64.h"
#include "config/problem.h"
#include "config/yaml.h"
#include "driver/cloud_error.h"
#include "drivers/kubernetes/api/exec_plugin.h"

namespace nodepool::drivers::kubernetes {

using async::Task;
using driver::CloudError;

namespace {

// How often a token file is read. It is updated long before its token expires.
constexpr auto kFileIsGood = std::chrono::minutes(1);
constexpr std::size_t kLongestToken = std::size_t{1} << 20;  // bytes

Credential bearer(std::string token) {
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  return {.header = "Bearer " + token, .token = token};
}

}  // namespace

Credentials::Credentials(const async::Runtime& runtime, const Cluster& cluster,
                         async::ThreadPool& threads, telemetry::Logger log)
    : runtime_(runtime),
      cluster_(cluster),
      threads_(threads),
      cache_(runtime, "Kubernetes token", std::move(log), [this] { return ask(); }) {}

Task<Credential> Credentials::ask() {
  if (!cluster_.token_file.empty()) co_return co_await read_token_file();
  if (!cluster_.token.empty()) co_return bearer(cluster_.token);
  if (!cluster_.username.empty()) {
    const std::string pair = cluster_.username + ":" + cluster_.password;
    co_return Credential{.header = "Basic " + cloud::base64(pair), .token = {}};
  }
  if (!cluster_.exec) co_return Credential{};
  const auto asked_at = runtime_.clock.now();
  const PluginToken token = co_await token_of_plugin(runtime_, cluster_);
  Credential credential = bearer(token.token);
  if (token.expires) {
    const std::chrono::duration<double> life(*token.expires - runtime_.clock.wall_seconds());
    credential.life = cloud::token_life(asked_at, life);
  }
  co_return credential;
}

Task<Credential> Credentials::read_token_file() {
  const std::string path = cluster_.token_file;
  std::string failure;
  try {
    Credential credential = bearer(co_await threads_.run(
        "reading a token", [path] { return config::read_file(path, kLongestToken); }));
    // A program may be writing the file.
    if (credential.token.empty()) {
      throw CloudError(CloudError::Kind::auth, "error reading the token: " + path + " is empty");
    }
    // Its expiry is unknown: if the file disappears, the token is used until it is rejected.
    credential.life.renew_at = runtime_.clock.now() + kFileIsGood;
    co_return credential;
  } catch (const config::ConfigError& error) {
    failure = error.what();
  }
  throw CloudError(CloudError::Kind::auth, "error reading the token: " + failure);
}

}  // namespace nodepool::drivers::kubernetes
