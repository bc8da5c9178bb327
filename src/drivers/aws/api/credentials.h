#pragma once

#include <chrono>
#include <string>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/token_cache.h"
#include "drivers/aws/account/account.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// The keys that sign all calls of an account. Renews them before they expire and when they are
// rejected.
class Credentials {
 public:
  // Never log it.
  struct Current {
    Keys keys;
    cloud::TokenLife life;
  };
  using Pointer = cloud::TokenCache<Current>::Pointer;

  // `account` and `threads` outlive it.
  Credentials(const async::Runtime& runtime, const Account& account, async::ThreadPool& threads,
              telemetry::Logger log, http::Client::Observer on_attempt);

  // Valid keys. Throws CloudError(auth) if they cannot be obtained.
  async::Task<Pointer> get() { return current_.get(); }

  // A service has rejected these keys: the next get() requests new ones.
  void refused(const Pointer& keys) { current_.refused(keys); }

  async::Task<> stop() { return current_.stop(); }

 private:
  async::Task<Current> ask_account();
  async::Task<Current> ask(const CredentialSource& source);
  async::Task<Current> assume_role(const CredentialSource& source);
  async::Task<Current> ask_program(const CredentialSource& source);
  async::Task<Current> ask_container(const CredentialSource& source);
  async::Task<Current> ask_instance(const CredentialSource& source);
  async::Task<Current> keys_of_instance(std::string url, std::string token);
  async::Task<std::string> begin_session(std::string url, std::chrono::seconds limit);
  async::Task<std::string> try_session(const CredentialSource& source);
  async::Task<http::Response> send(http::Client& client, http::Request request);
  async::Task<std::string> read_token(std::string path);

  async::Runtime runtime_;
  const Account& account_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
  http::Client client_;
  // For services of this host, which must not be called through a proxy.
  http::Client direct_client_;
  cloud::TokenCache<Current> current_;
};

}  // namespace nodepool::drivers::aws
