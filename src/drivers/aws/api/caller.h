#pragma once

#include <map>
#include <string>
#include <vector>

#include "async/runtime.h"
#include "cloud/rest/rest_client.h"
#include "cloud/xml/xml_element.h"
#include "drivers/aws/account/account.h"
#include "drivers/aws/api/call_rate_limit.h"
#include "drivers/aws/api/credentials.h"
#include "drivers/aws/api/query.h"
#include "http/client.h"
#include "telemetry/log.h"

namespace nodepool::drivers::aws {

// What all calls of one account share: credentials and rate limits.
class AccountState {
 public:
  // `account` and `threads` outlive it. `on_attempt` is called for calls that get credentials.
  AccountState(const async::Runtime& runtime, const Account& account, async::ThreadPool& threads,
               const telemetry::Logger& log, const http::Client::Observer& on_attempt)
      : account_(account),
        pace_(runtime),
        quota_limit_(runtime),
        block_limit_(runtime),
        object_limit_(runtime),
        credentials_(runtime, account, threads, log, on_attempt) {}

  const Account& account() const { return account_; }
  CallRateLimit& rate_limit(ServiceKind service) {
    if (service == ServiceKind::ebs) return block_limit_;
    if (service == ServiceKind::s3) return object_limit_;
    return service == ServiceKind::service_quotas ? quota_limit_ : pace_;
  }
  Credentials& credentials() { return credentials_; }
  void set_rate(double calls_per_second) {
    pace_.set_rate(calls_per_second);
    quota_limit_.set_rate(calls_per_second);
  }

  async::Task<> stop() { return credentials_.stop(); }

 private:
  const Account& account_;
  CallRateLimit pace_;
  CallRateLimit quota_limit_;
  CallRateLimit block_limit_;   // without a limit, but for what AWS says
  CallRateLimit object_limit_;  // the same
  Credentials credentials_;
};

// One call of a service.
struct Call {
  ServiceKind service = ServiceKind::ec2;
  std::string action;      // "DescribeInstances"
  std::string about = {};  // the id of the call's object, for messages
  http::Precedence precedence = http::Precedence::read;
  std::string method = "POST";
  std::string path = "/";
  http::Headers headers = {};
  std::string body = {};
  std::string body_hash = {};  // sha256_hex() of the body, if already known
  // Whether a repeated call would create a duplicate.
  bool creates = false;
  // Whether the call has an idempotency token.
  bool has_token = false;
  std::vector<std::string> secrets = {};
};

// Makes signed calls for all services, see cloud::RestClient.
class Caller {
 public:
  // `state` outlives it. `on_attempt` is called for every attempt of a call. `attempts`: the
  // maximum for a call that may be retried.
  Caller(const async::Runtime& runtime, AccountState& state, const telemetry::Logger& log,
         const http::Client::Observer& on_attempt, int attempts = 4);

  // Makes the call, and returns the response if it is a success. Throws CloudError.
  async::Task<http::Response> send(Call call);

  // Makes a call with a Query body, such as EC2's, and returns its XML response. An unreadable
  // response is CloudError(failed); for mutating calls, see cloud::read_outcome().
  async::Task<cloud::XmlElement> ask(Call call, Query query);

 private:
  async::Task<cloud::RestOptions::Reject> authorize(ServiceKind service, http::Request& request);

  async::Runtime runtime_;
  AccountState& state_;
  http::Client client_;
  std::map<ServiceKind, cloud::RestClient> services_;
};

}  // namespace nodepool::drivers::aws
